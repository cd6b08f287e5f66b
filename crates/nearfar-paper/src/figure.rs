//! Figures: panels side by side under one legend, drawn as SVG and as PNG.

use std::ops::Range;
use std::sync::Once;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

/// A palette for all kinds of colour vision (Okabe and Ito, 2008).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
    RGBColor(150, 150, 150),
];
const FONT: &str = "sans-serif";
/// Pixels of the PNG per unit of the SVG. Letters are placed at whole pixels, so that a scale of 1
/// spaces them unevenly.
const PNG_SCALE: u32 = 3;
/// Lines of at most this many points show a disc at each.
const MAX_MARKED_POINTS: usize = 20;

/// Panels with a common legend.
#[derive(Default)]
pub(crate) struct Figure {
    /// Names of the series, in the order of their colours.
    pub(crate) legend: Vec<String>,
    pub(crate) panels: Vec<Panel>,
    /// Panels per row.
    pub(crate) columns: usize,
    /// Width and height of a panel.
    pub(crate) size: (u32, u32),
}

#[derive(Default)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) series: Vec<Series>,
    /// Names of the values 0, −1, −2, … of y if the axis is categorical, from the top.
    pub(crate) names: Vec<String>,
    /// The range of y; by default that of the series.
    pub(crate) range: Option<(f64, f64)>,
    pub(crate) log_x: bool,
    pub(crate) log_y: bool,
}

pub(crate) struct Series {
    /// Index in the legend, which also chooses the colour.
    pub(crate) legend_index: usize,
    pub(crate) mark: Mark,
    pub(crate) points: Vec<Point>,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mark {
    /// A line with a band of one standard deviation on either side.
    Line,
    Disc,
    Cross,
    /// A small disc, for maps of many points.
    Dot,
}

/// A point with a standard deviation: of y on lines, of x otherwise.
#[derive(Clone, Copy)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) deviation: f64,
}

impl Point {
    pub(crate) fn at(x: f64, y: f64) -> Self {
        Self { x, y, deviation: 0.0 }
    }
}

impl Figure {
    /// The figure as SVG and as PNG.
    pub(crate) fn files(&self) -> anyhow::Result<[(&'static str, Vec<u8>); 2]> {
        static FONTS: Once = Once::new();
        FONTS.call_once(|| {
            for style in [FontStyle::Normal, FontStyle::Bold] {
                // Registration fails only for data that is not a font.
                let _ = register_font(FONT, style, dejavu::sans::regular());
            }
        });
        let mut svg = String::new();
        let backend = SVGBackend::with_string(&mut svg, self.size_at(1));
        self.draw(&backend.into_drawing_area(), 1)?;
        Ok([("svg", svg.into_bytes()), ("png", self.png()?)])
    }

    /// Encodes the PNG here: the encoder of plotters depends on `image` with all of its formats.
    fn png(&self) -> anyhow::Result<Vec<u8>> {
        let (width, height) = self.size_at(PNG_SCALE);
        let mut rgb = vec![0; width as usize * height as usize * 3];
        let backend = BitMapBackend::with_buffer(&mut rgb, (width, height));
        self.draw(&backend.into_drawing_area(), PNG_SCALE)?;
        let mut png = Vec::new();
        let mut encoder = png::Encoder::new(&mut png, width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Balanced);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&rgb)?;
        writer.finish()?;
        Ok(png)
    }

    /// Width and height of the figure, scaled.
    fn size_at(&self, scale: u32) -> (u32, u32) {
        let rows = self.panels.len().div_ceil(self.columns.max(1)) as u32;
        let width = self.size.0 * self.columns as u32;
        (width * scale, (self.size.1 * rows + self.legend_height()) * scale)
    }

    fn legend_height(&self) -> u32 {
        if self.legend.is_empty() { 0 } else { 34 }
    }

    fn draw<B: DrawingBackend>(
        &self,
        root: &DrawingArea<B, Shift>,
        scale: u32,
    ) -> anyhow::Result<()>
    where
        B::ErrorType: 'static,
    {
        root.fill(&WHITE)?;
        let (top, rest) = root.split_vertically(self.legend_height() * scale);
        self.draw_legend(&top, scale.cast_signed())?;
        let rows = self.panels.len().div_ceil(self.columns.max(1));
        for (panel, area) in self.panels.iter().zip(rest.split_evenly((rows, self.columns))) {
            panel.draw(&area, scale)?;
        }
        root.present()?;
        Ok(())
    }

    fn draw_legend<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        scale: i32,
    ) -> anyhow::Result<()>
    where
        B::ErrorType: 'static,
    {
        let style = (FONT, 14 * scale).into_font();
        let mut x = 16 * scale;
        for (index, name) in self.legend.iter().enumerate() {
            let swatch = [(x, 13 * scale), (x + 14 * scale, 23 * scale)];
            area.draw(&Rectangle::new(swatch, COLOURS[index % COLOURS.len()].filled()))?;
            area.draw(&Text::new(name.clone(), (x + 20 * scale, 11 * scale), style.clone()))?;
            let width = style.box_size(name).map_or(100, |size| size.0);
            x += width.cast_signed() + 42 * scale;
        }
        Ok(())
    }
}

impl Panel {
    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        scale: u32,
    ) -> anyhow::Result<()>
    where
        B::ErrorType: 'static,
    {
        let (x, y) = self.ranges();
        let mut builder = ChartBuilder::on(area);
        let left = if self.names.is_empty() { 56 } else { 190 };
        builder
            .margin(10 * scale)
            .margin_right(18 * scale)
            .caption(&self.title, (FONT, 16 * scale))
            .x_label_area_size(scale * if self.x.is_empty() { 8 } else { 42 })
            .y_label_area_size(scale * if self.x.is_empty() { 8 } else { left });
        let coordinates = |log: bool, (low, high): (f64, f64)| {
            if log { (low.log10(), high.log10()) } else { (low, high) }
        };
        let axis = |log: bool, range: (f64, f64), ticks: Vec<f64>| {
            let (low, high) = coordinates(log, range);
            let ticks = ticks.into_iter().map(|tick| if log { tick.log10() } else { tick });
            Axis { range: low..high, ticks: ticks.collect() }
        };
        let name_ticks = (0..self.names.len()).map(|index| -(index as f64)).collect();
        let ticks_y = if self.names.is_empty() { ticks(y, self.log_y) } else { name_ticks };
        let ticks_x = ticks(x, self.log_x);
        let digits = (digits(&ticks_x), digits(&ticks_y));
        let x_axis = axis(self.log_x, x, ticks_x);
        let mut chart = builder.build_cartesian_2d(x_axis, axis(self.log_y, y, ticks_y))?;
        let number = |log: bool, value: f64, digits: usize| {
            let value = if log { 10_f64.powf(value) } else { value };
            format!("{value:.digits$}")
        };
        let x_label = |value: &f64| number(self.log_x, *value, digits.0);
        let y_label = |value: &f64| match self.names.get(-value.round() as usize) {
            Some(name) => name.clone(),
            None => number(self.log_y, *value, digits.1),
        };
        let mut mesh = chart.configure_mesh();
        mesh.label_style((FONT, 12 * scale)).axis_desc_style((FONT, 13 * scale));
        mesh.x_desc(&self.x).y_desc(&self.y);
        mesh.light_line_style(WHITE).bold_line_style(BLACK.mix(0.1).stroke_width(scale));
        mesh.axis_style(BLACK.stroke_width(scale)).set_all_tick_mark_size(5 * scale);
        mesh.x_label_formatter(&x_label).y_label_formatter(&y_label);
        mesh.x_labels(30).y_labels(30);
        if self.x.is_empty() {
            mesh.disable_mesh().disable_axes();
        }
        mesh.draw()?;
        for series in &self.series {
            let colour = COLOURS[series.legend_index % COLOURS.len()];
            let position = |point: &Point, deviations: f64| {
                let (x, y) = if series.mark == Mark::Line {
                    (point.x, point.y + deviations * point.deviation)
                } else {
                    (point.x + deviations * point.deviation, point.y)
                };
                (coordinates(self.log_x, (x, x)).0, coordinates(self.log_y, (y, y)).0)
            };
            let points = || series.points.iter().map(|point| position(point, 0.0));
            match series.mark {
                Mark::Line => {
                    let low = series.points.iter().map(|point| position(point, -1.0));
                    let high = series.points.iter().rev().map(|point| position(point, 1.0));
                    let band: Vec<_> = low.chain(high).collect();
                    chart.draw_series([Polygon::new(band, colour.mix(0.15))])?;
                    chart.draw_series(LineSeries::new(points(), colour.stroke_width(2 * scale)))?;
                    if series.points.len() <= MAX_MARKED_POINTS {
                        chart.draw_series(
                            points().map(|at| Circle::new(at, 3 * scale, colour.filled())),
                        )?;
                    }
                }
                Mark::Disc => {
                    for point in &series.points {
                        let bar = vec![position(point, -1.0), position(point, 1.0)];
                        let stroke = colour.mix(0.5).stroke_width(scale);
                        chart.draw_series([PathElement::new(bar, stroke)])?;
                    }
                    chart.draw_series(
                        points().map(|at| Circle::new(at, 4 * scale, colour.filled())),
                    )?;
                }
                Mark::Cross => {
                    let stroke = colour.stroke_width(2 * scale);
                    chart.draw_series(points().map(|at| Cross::new(at, 5 * scale, stroke)))?;
                }
                Mark::Dot => {
                    let fill = colour.mix(0.7).filled();
                    chart.draw_series(points().map(|at| Circle::new(at, 2 * scale, fill)))?;
                }
            }
        }
        Ok(())
    }

    /// The ranges of x and y, with a margin around the points.
    fn ranges(&self) -> ((f64, f64), (f64, f64)) {
        let with_margin = |values: Vec<f64>, log: bool| {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if !(low.is_finite() && high.is_finite()) {
                return (0.0, 1.0);
            }
            if log {
                return (low / 1.5, high * 1.5);
            }
            let margin = ((high - low) * 0.06).max(1e-3 * high.abs().max(1e-3));
            (low - margin, high + margin)
        };
        let points =
            || self.series.iter().flat_map(|series| series.points.iter().map(move |p| (series, p)));
        let values = |of_x: bool| -> Vec<f64> {
            let value = |(series, p): (&Series, &Point)| {
                let deviates = (series.mark == Mark::Line) != of_x;
                let centre = if of_x { p.x } else { p.y };
                let deviation = if deviates { p.deviation } else { 0.0 };
                [centre - deviation, centre + deviation]
            };
            points().flat_map(value).collect()
        };
        let y = if self.names.is_empty() {
            self.range.unwrap_or_else(|| with_margin(values(false), self.log_y))
        } else {
            (-(self.names.len() as f64) + 0.4, 0.6)
        };
        (with_margin(values(true), self.log_x), y)
    }
}

/// A linear axis with given ticks.
struct Axis {
    range: Range<f64>,
    ticks: Vec<f64>,
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (low, high): (i32, i32)) -> i32 {
        let fraction = (value - self.range.start) / (self.range.end - self.range.start);
        low + (fraction * f64::from(high - low)).round() as i32
    }

    fn key_points<H: KeyPointHint>(&self, _: H) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

/// Ticks at round numbers: about five, or 1, 2, 5, 10, 20, … on a logarithmic axis.
fn ticks((low, high): (f64, f64), log: bool) -> Vec<f64> {
    if log {
        let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let ticks =
            decades.flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)));
        return ticks.filter(|tick| (low..=high).contains(tick)).collect();
    }
    let rough = (high - low) / 5.0;
    let decade = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * decade);
    let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(decade);
    let range = (low / step).ceil() as i64..=(high / step).floor() as i64;
    range.map(|multiple| multiple as f64 * step).collect()
}

/// The number of decimals that represents all ticks.
fn digits(ticks: &[f64]) -> usize {
    let suffices = |digits: &u8| {
        let scale = 10_f64.powi(i32::from(*digits));
        ticks.iter().all(|tick| (tick * scale - (tick * scale).round()).abs() < 1e-6)
    };
    (0..6).find(suffices).unwrap_or(6).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        let text = |range, log| format!("{:?}", ticks(range, log));
        assert_eq!(text((1.2, 15.8), false), "[5.0, 10.0, 15.0]");
        assert_eq!(text((0.0, 100.0), false), "[0.0, 20.0, 40.0, 60.0, 80.0, 100.0]");
        assert_eq!(text((0.7, 120.0), true), "[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]");
    }

    #[test]
    fn labels_have_as_many_decimals_as_needed() {
        assert_eq!(digits(&[5.0, 10.0]), 0);
        assert_eq!(digits(&[0.65, 0.655, 0.66]), 3);
        assert_eq!(digits(&[0.2, 0.4, 1.0]), 1);
    }

    #[test]
    fn a_figure_is_written_as_svg_and_png() {
        let points = vec![Point { x: 1.0, y: 0.5, deviation: 0.1 }, Point::at(2.0, 0.7)];
        let series = |mark| Series { legend_index: 0, mark, points: points.clone() };
        let marks = [Mark::Line, Mark::Disc, Mark::Cross, Mark::Dot];
        let panel = |log_x| Panel {
            title: "a panel".to_owned(),
            x: "x label".to_owned(),
            series: marks.into_iter().map(series).collect(),
            log_x,
            ..Default::default()
        };
        let legend = vec!["a series".to_owned()];
        let panels = vec![panel(false), panel(true)];
        let figure = Figure { legend, panels, columns: 2, size: (300, 200) };
        let [(_, svg), (_, png)] = figure.files().unwrap();
        let svg = String::from_utf8(svg).unwrap();
        for text in ["a panel", "x label", "a series"] {
            assert!(svg.contains(text), "{text}");
        }
        let mut png = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        assert_eq!(png.info().size(), figure.size_at(PNG_SCALE));
        let mut pixels = vec![0; png.output_buffer_size().unwrap()];
        png.next_frame(&mut pixels).unwrap();
        let RGBColor(r, g, b) = COLOURS[0];
        assert_eq!(pixels[..3], [255; 3], "the background is white");
        assert!(pixels.chunks(3).any(|pixel| pixel == [r, g, b]), "the series is drawn");
    }
}
