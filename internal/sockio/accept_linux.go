package sockio

import (
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Accept accepts a connection of TCP, and does not block. The new socket does not block either.
func Accept(fd int, from *netip.AddrPort) (accepted int, err syscall.Errno) {
	var address unix.RawSockaddrInet6
	size := uint32(unsafe.Sizeof(address))
	r, _, err := syscall.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), uintptr(unsafe.Pointer(&address)), uintptr(unsafe.Pointer(&size)),
		unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	if err == 0 {
		*from = addrPort(&address)
	}
	return int(r), err
}

// addrPort converts an address of IPv4 or IPv6, whose ports are in the same place.
func addrPort(a *unix.RawSockaddrInet6) netip.AddrPort {
	port := (*[2]byte)(unsafe.Pointer(&a.Port))
	var ip netip.Addr
	if a.Family == unix.AF_INET {
		ip = netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(a)).Addr)
	} else if ip = netip.AddrFrom16(a.Addr).Unmap(); a.Scope_id != 0 {
		ip = ip.WithZone(zone(int(a.Scope_id)))
	}
	return netip.AddrPortFrom(ip, uint16(port[0])<<8|uint16(port[1]))
}

// zone returns the name of a network interface, or its number if it has none.
func zone(index int) string {
	if i, err := net.InterfaceByIndex(index); err == nil {
		return i.Name
	}
	return strconv.Itoa(index)
}

// Local returns the address that a socket is bound to.
func Local(fd int) (at netip.AddrPort, err syscall.Errno) {
	var address unix.RawSockaddrInet6
	size := uint32(unsafe.Sizeof(address))
	if _, _, err = syscall.RawSyscall(unix.SYS_GETSOCKNAME, uintptr(fd), uintptr(unsafe.Pointer(&address)), uintptr(unsafe.Pointer(&size))); err == 0 {
		at = addrPort(&address)
	}
	return at, err
}

// Close closes a socket that does not linger, and does not block.
func Close(fd int) error {
	if _, _, err := syscall.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0); err != 0 {
		return err
	}
	return nil
}

// Dropped returns how many connections to a listening socket the system has dropped, because too many
// waited to be accepted; 0 if it does not say.
func Dropped(fd int) int {
	const drops = 8 // SK_MEMINFO_DROPS in linux/sock_diag.h
	var info [drops + 1]uint32
	size := uint32(unsafe.Sizeof(info))
	_, _, err := syscall.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if err != 0 {
		return 0
	}
	return int(info[drops])
}
