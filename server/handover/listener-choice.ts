/** Which of several listeners of one port gets the next connection. The system deals them out by chance; while one server follows another, all go to the new one. */
import { dlopen, ptr } from 'bun:ffi';
import { closeSync, openSync, readdirSync } from 'node:fs';

const symbols = {
  dup2: { args: ['i32', 'i32'], returns: 'i32' },
  getsockname: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
  getsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'ptr'], returns: 'i32' },
  setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
} as const;

const libraries = ['libc.so.6', `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`];
/** From the kernel's headers, the same on both of our kinds of processor. */
const socketLevel = 1;
const acceptsConnections = 30;
const attachProgram = 51;
const detachProgram = 68;

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

/** Classic BPF: a random number modulo `count`, plus `first`, is the index of the listener, in the order in which they came. */
function programFor(first: number, count: number): Uint8Array {
  const steps: readonly (readonly [code: number, value: number])[] = [
    [0x20, 0xfffff038],
    [0x94, count],
    [0x04, first],
    [0x16, 0],
  ];
  const bytes = new Uint8Array(steps.length * 8);
  const view = new DataView(bytes.buffer);
  for (const [at, [code, value]] of steps.entries()) {
    view.setUint16(at * 8, code, true);
    view.setUint32(at * 8 + 4, value, true);
  }
  return bytes;
}

export interface PortSteering {
  /** New connections go to listeners `first` to `first + count - 1`. @returns false where the system cannot do that: then it is left to chance. */
  to(first: number, count: number): boolean;
  /** Left to chance again. */
  free(): void;
}

/** Descriptors of this process that listen on the port. */
function listenersOf(library: NonNullable<ReturnType<typeof load>>, port: number): number[] {
  const name = new Uint8Array(128);
  const flag = new Int32Array(1);
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((descriptor) => {
      if (library.getsockname(descriptor, name, Uint32Array.of(name.length)) !== 0) return false;
      if ((((name[2] ?? 0) << 8) | (name[3] ?? 0)) !== port) return false;
      library.getsockopt(descriptor, socketLevel, acceptsConnections, flag, Uint32Array.of(4));
      return flag[0] === 1;
    });
}

/** This process listens on the port no more, and keeps its connections: the runtime's own way to stop listening ends those that are idle. Something that never has news takes the place of each listener. */
export function leavePort(port: number): void {
  const library = process.platform === 'linux' ? load() : null;
  if (library === null) return;
  const nothing = openSync('/dev/null', 'r');
  for (const descriptor of listenersOf(library, port)) library.dup2(nothing, descriptor);
  closeSync(nothing);
}

/** @param port that this process listens on. */
export function createSteering(port: number): PortSteering {
  const library = process.platform === 'linux' ? load() : null;
  const listener = (): number | null => (library === null ? null : (listenersOf(library, port)[0] ?? null));
  return {
    to(first, count) {
      const descriptor = library === null ? null : listener();
      if (library === null || descriptor === null) return false;
      const program = programFor(first, count);
      const order = new BigUint64Array([BigInt(program.length / 8), BigInt(ptr(program))]);
      return library.setsockopt(descriptor, socketLevel, attachProgram, order, 16) === 0;
    },
    free() {
      const descriptor = library === null ? null : listener();
      if (descriptor !== null) library?.setsockopt(descriptor, socketLevel, detachProgram, new Int32Array(1), 4);
    },
  };
}
