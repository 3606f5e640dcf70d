#!/usr/bin/env node
// Runs the program of the package for this platform, and ends as it ends.
"use strict";
const { spawn } = require("node:child_process");
const { isatty } = require("node:tty");

const name = `${require("./package.json").name}-${process.platform}-${process.arch}`;
const fail = (message, code) => {
  console.error(`mockserver: ${message}`);
  process.exit(code);
};

let program;
try {
  program = require.resolve(`${name}/mockserver${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  fail(`the package ${name} is not installed; expected an installation with optional packages, on a platform of a release`, 1);
}

// A terminal sends its signals to the program too, for which a second one would mean to exit at once.
const windows = process.platform === "win32";
const byTerminal = isatty(0) ? ["SIGINT", "SIGQUIT"] : [];
let child;
for (const signal of windows ? ["SIGINT", "SIGBREAK"] : ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"]) {
  process.on(signal, () => {
    if (!windows && !byTerminal.includes(signal)) child.kill(signal);
  });
}
child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (err) => fail(`${program} cannot be run: ${err.message}`, 126));
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
