/** The process's descriptors and the connections behind them. Bun reports neither the limit nor the peers, so the C library is called. */

import { dlopen } from 'bun:ffi';
import { readdir } from 'node:fs/promises';

export interface Connection {
  readonly descriptor: number;
  /** On the other side. */
  readonly port: number;
  /** What is counted as one caller: an IPv4 address, or the /64 of an IPv6 one, which a single customer is given. */
  readonly caller: string;
  /** As `caller`, in full. */
  readonly address: string;
}

export interface Descriptors {
  /** How many this process may have open. */
  readonly limit: number;
  /** Those in use now; null when none is left to find out with. */
  used(): Promise<readonly number[] | null>;
  /** Connections that others made to a port of ours. */
  inbound(port: number, used: readonly number[] | null): Connection[];
  /** The listener sees the connection end and closes it in its own way. */
  end(descriptor: number): void;
}

const address = ['i32', 'ptr', 'ptr'] as const;
const symbols = {
  getrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
  setrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
  getpeername: { args: address, returns: 'i32' },
  getsockname: { args: address, returns: 'i32' },
  shutdown: { args: ['i32', 'i32'], returns: 'i32' },
} as const;

const isMac = process.platform === 'darwin';
const openFiles = isMac ? 8 : 7;
const ipv6Families = new Set([10, 30]);
const shutdownBoth = 2;
/** More are not looked at one by one when the list of them cannot be read. */
const maxVisited = 65_536;

const libraries = isMac
  ? ['libSystem.B.dylib']
  : ['libc.so.6', `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`];

function load() {
  for (const library of libraries) {
    try {
      return dlopen(library, symbols).symbols;
    } catch {
      // Another kind of C library; the next name is tried.
    }
  }
  return null;
}

/** Text of an IPv4 address, also where it travels inside an IPv6 one; else the groups of the IPv6 address. */
function callerOf(bytes: Uint8Array, family: number): Pick<Connection, 'address' | 'caller'> {
  const v4 = (at: number) => [...bytes.subarray(at, at + 4)].join('.');
  if (!ipv6Families.has(family)) return { address: v4(4), caller: v4(4) };
  const view = new DataView(bytes.buffer);
  const groups = Array.from({ length: 8 }, (_, index) => view.getUint16(8 + index * 2));
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff)
    return { address: v4(20), caller: v4(20) };
  const texts = groups.map((group) => group.toString(16));
  return { address: texts.join(':'), caller: texts.slice(0, 4).join(':') };
}

/** Raises the limit as far as the system lets it. @returns null where the C library cannot be asked. */
export function openDescriptors(): Descriptors | null {
  const library = process.platform === 'win32' ? null : load();
  if (library === null) return null;
  // rlim_cur, rlim_max.
  const limits = new BigUint64Array(2);
  if (library.getrlimit(openFiles, limits) !== 0) return null;
  if ((limits[0] ?? 0n) < (limits[1] ?? 0n)) {
    library.setrlimit(openFiles, BigUint64Array.of(limits[1] ?? 0n, limits[1] ?? 0n));
    library.getrlimit(openFiles, limits);
  }
  const limit = Number(limits[0]);
  const name = new Uint8Array(128);
  const size = new Uint32Array(1);
  const ask = (call: typeof library.getpeername, descriptor: number): boolean => {
    size[0] = name.length;
    return call(descriptor, name, size) === 0;
  };
  const family = () => (isMac ? (name[1] ?? 0) : (name[0] ?? 0));
  const port = () => ((name[2] ?? 0) << 8) | (name[3] ?? 0);

  return {
    limit,
    async used() {
      try {
        return (await readdir('/dev/fd')).map(Number);
      } catch {
        return null;
      }
    },
    inbound(ours, used) {
      const found: Connection[] = [];
      for (const descriptor of used ?? Array(Math.min(limit, maxVisited)).keys()) {
        if (!ask(library.getsockname, descriptor) || port() !== ours) continue;
        if (ask(library.getpeername, descriptor)) found.push({ descriptor, port: port(), ...callerOf(name, family()) });
      }
      return found;
    },
    end: (descriptor) => void library.shutdown(descriptor, shutdownBoth),
  };
}
