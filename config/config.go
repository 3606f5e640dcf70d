// Package config reads and checks configurations, which are written in the configuration language,
// in files or in Go. The settings of the process are in package settings.
//
// # The language
//
// A configuration is a list, written in YAML, JSON or EDN. Each item is a map with
// one key: endpoint, websocket, data, scenario, resource or upstream:
//
//	# yaml
//	- endpoint:
//	    method: GET                  # GET by default, any case
//	    path: /users/:id|int         # see docs/matching.md
//	    host: "*.example.com"        # optional
//	    if: query-params.page = 2    # optional, see docs/conditions.md
//	    response:
//	      status: 200                # 200..599
//	      headers:
//	        Content-Type: application/json
//	        Set-Cookie: [a=1, b=2]   # a list repeats the header
//	      body: '{"id": {{path-params.id}}}'
//
// docs/configuration.md describes all keys, and package item the other items.
//
// Reading never stops at the first error: a Spec contains every problem found, each with its
// position.
package config

import "mockserver/config/syntax"

// The positions and problems of a configuration. They are documented in package syntax.
type (
	// Pos is a position in a file.
	Pos = syntax.Pos
	// Problem is an error or a warning, with its position.
	Problem = syntax.Problem
	// Problems are all problems of a configuration. They are also an error: see Problems.Err.
	Problems = syntax.Problems
)
