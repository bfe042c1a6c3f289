# usage: gnuplot -e "data='peers.dat'; image='peers.png'" chart.gp
set terminal pngcairo size 1200,620 noenhanced font 'sans,11'
set output image
set title 'node_modules for a git worktree: median wall time, from fork to exit'
set style data histogram
set style histogram clustered gap 1 errorbars linewidth 1
set style fill solid 0.85 border -1
set boxwidth 0.9
set logscale y
set ylabel 'milliseconds (logarithmic), 10th to 90th percentile'
set yrange [1:*]
set grid ytics
set key outside top center horizontal
set bmargin 4
set datafile missing '-'
set datafile separator tab
plot data using 2:3:4:xticlabels(1) title 'new worktree, known lock', \
     data using 5:6:7 title 'nothing to do', \
     data using 8:9:10 title 'removal of node_modules'
