#include "random.cuh"
#include "sampling.cuh"
#include "training.cuh"
