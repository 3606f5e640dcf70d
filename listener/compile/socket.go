package compile

import (
	"mockserver/config/item"
	"mockserver/listener/compile/traffic"
	"mockserver/listener/protocol/websocket"
	"mockserver/matcher"
)

// socketSeed returns the seed of a WebSocket; nil without Options.Seed.
func (c *Compiler) socketSeed(asking *item.Endpoint) *websocket.Seed {
	if !c.Chance.Seeded {
		return nil
	}
	counts := traffic.NewCounts(&c.Carried, asking, true)
	return &websocket.Seed{
		Condition: func(holds func(*matcher.Request) bool) func(*matcher.Request) bool {
			return c.Chance.Conditional(counts, holds)
		},
		Connection: func() func(uint64, *matcher.Random) {
			connection := counts.Next() << 32
			return func(nth uint64, numbers *matcher.Random) { c.Chance.SeedNth(counts, connection|nth, numbers) }
		},
	}
}
