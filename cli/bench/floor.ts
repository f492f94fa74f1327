/** A relay that does nothing but relay: its CPU per request is the floor all others are measured against. */

/** @param pairs `PORT:UPSTREAM`: each port passes everything on to one upstream of this machine. */
export function serveFloor(pairs: readonly string[]): void {
  for (const pair of pairs) {
    const [port, upstream] = pair.split(':');
    Bun.serve({
      port: Number(port),
      hostname: '127.0.0.1',
      idleTimeout: 0,
      fetch: (request) => {
        const { pathname, search } = new URL(request.url);
        return fetch(`http://127.0.0.1:${upstream}${pathname}${search}`, request);
      },
    });
  }
}
