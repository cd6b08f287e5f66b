// Colour scales that are safe for colour-blind readers.

const isDark = () => !printing && matchMedia("(prefers-color-scheme: dark)").matches;
let printing = false;

// Six colours of the palette of Okabe and Ito, adapted to the background; then, one by one, the colour
// farthest from all before it as people see it who see all colours or lack one of the three cones. Any two
// are at least 0.055 apart in OKLab for each of them.
const CLASSES = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e0a100", "#3fa7dc", "#661133", "#3300aa", "#9900ff",
    "#555500", "#aa2277", "#9977ff", "#6622cc", "#552277", "#886655", "#115555", "#cc33cc", "#ff66dd"],
  dark: ["#4fa3e0", "#f08a3c", "#2ec49a", "#e59cc4", "#f0c53a", "#8fd3f7", "#aa00cc", "#cc0000", "#aa7788",
    "#9966ff", "#cceebb", "#7722ff", "#008855", "#885599", "#ff33bb", "#77ff77", "#999977", "#cc6611"],
};
// Groups beyond the palette, and nodes without a value.
const GREY = { light: "#b4b2ac", dark: "#565c68" };
// Diverging: from near and similar (warm) to far and dissimilar (cold).
const DIVERGING = {
  light: ["#a62a00", "#dd6b20", "#e9b872", "#b9c3bd", "#6fa8d6", "#2f6fb8", "#173f7a"],
  dark: ["#ffb184", "#f0763a", "#c27d5d", "#8f8b89", "#5f93c4", "#5aa3ee", "#bcdcff"],
};
// Sequential: from low (pale) to high (strong).
const SEQUENTIAL = {
  light: ["#c9d3dc", "#8fb8cf", "#4d94b8", "#1f6a96", "#0d3f66", "#071d33"],
  dark: ["#39424e", "#3b6a86", "#4596b8", "#6cc0d8", "#b0e4ea", "#f4fbf0"],
};

// While a group is highlighted: the others, and the group if its own colour is grey.
const FAINT = { light: "#dddad3", dark: "#343a44" };
const STRONG = { light: "#1d1f24", dark: "#f4f1ea" };

// Lines and text around the dots.
const INK = {
  light: { spoke: "#1d1f2460", text: "#1d1f24", halo: "#ffffff" },
  dark: { spoke: "#eceae566", text: "#eceae5", halo: "#1c1f25" },
};

const themed = (colours) => (isDark() ? colours.dark : colours.light);

function rgb(hex) {
  const number = parseInt(hex.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

// The colour at a fraction of a ramp, from 0 to 1.
function rampColour(ramp, fraction) {
  const at = Math.max(0, Math.min(1, fraction)) * (ramp.length - 1);
  const low = Math.min(ramp.length - 2, Math.floor(at));
  const [a, b] = [rgb(ramp[low]), rgb(ramp[low + 1])];
  return a.map((x, channel) => Math.round(x + (b[channel] - x) * (at - low)));
}
