// A curve as text, for a terminal. Pure.
#ifndef HPC_CLIENT_CLI_FORMS_PLOT_H_
#define HPC_CLIENT_CLI_FORMS_PLOT_H_

#include <string>
#include <vector>

namespace hpc::client {

struct PlotPoint {
  double x = 0;
  double y = 0;  // where this is no number, or is infinite, the curve has a gap
};

// Draws the points, joined in the order of their x, into `width` x `height` characters of braille
// dots, with the largest and the smallest value beside it and the first and the last x below it:
//
//            4 ⠱⡀⠀⠀
//          0.5 ⠀⠑⠢⣀
//              0  3
//
// Returns whole lines; "" if no point has a number.
std::string Plot(std::vector<PlotPoint> points, int width, int height);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FORMS_PLOT_H_
