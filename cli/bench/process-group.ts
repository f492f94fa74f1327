/** Ends what a measurement has started when the process that measures is killed outright: nothing else would. */

/** Kills a process that ignores SIGTERM: a gateway waits for open requests, but the benchmark that sent them has ended. */
const timeoutMs = 2000;

/**
 * @param input lines `+PID` and `-PID` of what has begun and ended; it ends with the process that writes it.
 * @param kill throws where there is no such process any more.
 */
export async function keepOrder(
  input: AsyncIterable<Uint8Array | string>,
  kill: (pid: number, signal: NodeJS.Signals) => void,
): Promise<void> {
  // The terminal's Ctrl-C is for the process that measures.
  process.on('SIGINT', () => undefined);
  const running = new Set<number>();
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of input) {
    const lines = (rest + (typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true }))).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const pid = Number(line.slice(1));
      if (line.startsWith('+')) running.add(pid);
      else running.delete(pid);
    }
  }
  const all = (signal: NodeJS.Signals) => {
    for (const pid of running) {
      try {
        kill(pid, signal);
      } catch {
        // It has ended by itself.
        running.delete(pid);
      }
    }
  };
  all('SIGTERM');
  if (running.size > 0) await Bun.sleep(timeoutMs);
  all('SIGKILL');
}
