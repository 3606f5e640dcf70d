package listener

import (
	"mockserver/config/item"
	"mockserver/listener/protocol/websocket"
	"mockserver/listener/protocol/wire"
	"mockserver/listener/serve/traffic"
	"mockserver/matcher"
)

// upgrade answers a request that asks for a declared WebSocket: it turns the connection into a
// WebSocket connection, or answers an invalid handshake with an error. It reports false for any
// other request.
func (s *Server) upgrade(sn *snapshot, c *call) bool {
	conn, ok := c.peer.(*wire.Connection)
	if sn.sockets == nil || !ok || conn == nil {
		return false
	}
	socket := sn.sockets.Find(&c.Request)
	if socket == nil {
		return false
	}
	c.trace.Counters = socket.Counters
	if socket.Accept(&c.Request, &c.reply) {
		dialogue := s.dialogues.New(socket, &c.Request, conn.Shard())
		conn.Leave(func() { dialogue.Run(conn, conn.Stream()) })
	}
	return true
}

// socketStopped logs that a template of a WebSocket was stopped. It returns the reason for the
// client.
func (s *Server) socketStopped(socket string, stopped error) (reason string) {
	f, err := s.unfinished(stopped)
	s.tellServerError(f, &answer{name: socket}, err)
	return f.Title
}

// socketSeed returns the seed of a WebSocket; nil without Options.Seed.
func (c *compiler) socketSeed(asking *item.Endpoint) *websocket.Seed {
	if !c.chance.Seeded {
		return nil
	}
	counts := traffic.NewCounts(&c.carried, asking, true)
	return &websocket.Seed{
		Condition: func(holds func(*matcher.Request) bool) func(*matcher.Request) bool {
			return c.chance.Conditional(counts, holds)
		},
		Connection: func() func(uint64, *matcher.Random) {
			connection := counts.Next() << 32
			return func(nth uint64, numbers *matcher.Random) { c.chance.SeedNth(counts, connection|nth, numbers) }
		},
	}
}
