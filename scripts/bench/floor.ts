/** A relay that does nothing but relay: `PORT:UPSTREAM` pairs. Its CPU per request is the floor all others are measured against. */
for (const pair of process.argv.slice(2)) {
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
