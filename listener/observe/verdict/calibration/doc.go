// Package calibration checks the verdict of the program against the measurements of a client.
package calibration
