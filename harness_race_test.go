//go:build race

package main

// buildFlags make the program under test watch its own races too.
var buildFlags = []string{"-race"}
