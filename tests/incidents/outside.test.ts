/** What others let in from outside: addresses, bodies, pages, packages. */
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect } from 'vitest';
import { isPublicAddress } from '../../server/outbound/addresses.ts';
import { createGuard } from '../../server/outbound/guard.ts';
import { createSite, type Site, sendRaw } from '../support/site.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';
import { incident } from './incident.ts';

let site: Site;
let upstream: Upstream;
let key: string;
let canaryPort: number;
const visits: string[] = [];
const canary = createServer((request, response) => {
  visits.push(request.url ?? '');
  if (request.url?.startsWith('/jump')) response.writeHead(302, { location: `http://127.0.0.1:${canaryPort}/landed` });
  response.end('reached');
});

beforeAll(async () => {
  site = await createSite();
  upstream = await startUpstream((response) => sendJson(response, completion(3, 2)));
  await site.gateway.channel(upstream.url);
  key = (await site.gateway.token()).key;
  await new Promise<void>((done) => canary.listen(0, '127.0.0.1', done));
  canaryPort = (canary.address() as AddressInfo).port;
});
afterAll(async () => {
  canary.closeAllConnections();
  canary.close();
  await site.close();
  await upstream.stop();
});

const barred = async (url: string, options: Parameters<typeof createGuard>[0] = {}) => {
  visits.length = 0;
  await expect(createGuard(options)(url)).rejects.toMatchObject({ code: expect.stringMatching(/^address_/) });
  return visits.length;
};
/** Bytes as they are, and what came back until the other side closed. */
const exchange = (text: string | Uint8Array): Promise<string> =>
  new Promise((done) => {
    const socket = connect(site.port, '127.0.0.1');
    let received = '';
    const over = () => {
      socket.destroy();
      done(received);
    };
    socket.on('data', (bytes: Buffer) => {
      received += bytes.toString('latin1');
      if (received.includes('\r\n\r\n')) setTimeout(over, 30);
    });
    socket.on('error', over);
    socket.on('close', () => done(received));
    setTimeout(over, 3000).unref();
    socket.write(text);
  });
const statusesIn = (received: string) =>
  [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] });

incident('CVE-2025-59146', 'a server fetched any address a user gave it', async () => {
  expect(await barred(`http://127.0.0.1:${canaryPort}/`)).toBe(0);
  expect(await barred(`http://localhost:${canaryPort}/`)).toBe(0);
});

incident(
  'CVE-2026-42339',
  '0.0.0.0 was no address of this machine to the filter, and was one to the kernel',
  async () => {
    for (const host of ['0.0.0.0', '0', '[::]', '0x0', '127.1', '[::ffff:0.0.0.0]'])
      expect(await barred(`http://${host}:${canaryPort}/`)).toBe(0);
  },
);

incident('CVE-2026-33655', 'names in addresses for notices were never looked up, only read', async () => {
  const resolve_ = async () => [{ address: '10.0.0.8', family: 4 }];
  expect(await barred(`http://hooks.example:${canaryPort}/`, { resolve: resolve_ })).toBe(0);
});

incident('new-api#5897', 'the address that was checked was not the one that was dialled', async () => {
  let requested = 0;
  const call = createGuard({
    resolve: async () => [{ address: requested++ === 0 ? '127.0.0.2' : '127.0.0.1', family: 4 }],
    isAllowed: (address) => address === '127.0.0.2',
  });
  await call(`http://rebind.example:${canaryPort}/`).catch(() => null);
  expect(requested).toBe(1);
});

incident('CVE-2026-45401', 'a redirect led from an allowed address to a forbidden one', async () => {
  visits.length = 0;
  const call = createGuard({ resolve: async () => [{ address: '127.0.0.1', family: 4 }], isAllowed: () => true });
  await expect(call(`http://site.example:${canaryPort}/jump`)).rejects.toMatchObject({ code: 'address_redirects' });
  expect(visits).toEqual(['/jump']);
});

incident(
  'GHSA-w98g-5w9p-p3rc',
  'carrier networks, 6to4, NAT64 and site-local addresses were missing from the list',
  () => {
    for (const address of [
      '100.64.0.1',
      '100.127.255.254',
      '2002:7f00:1::1',
      '64:ff9b::7f00:1',
      '64:ff9b:1::1',
      'fec0::1',
      'fc00::1',
      'fe80::1',
      '2001::1',
      '198.18.0.1',
      '169.254.169.254',
      '::ffff:127.0.0.1',
    ])
      expect([address, isPublicAddress(address)]).toEqual([address, false]);
  },
);

incident('CVE-2026-45400', 'the filter and the client read one address as two hosts', async () => {
  for (const url of [
    `http://example.com@127.0.0.1:${canaryPort}/`,
    `http://127.0.0.1:${canaryPort}\\@example.com/`,
    `http:\\\\127.0.0.1:${canaryPort}/`,
    `http://①②⑦.0.0.1:${canaryPort}/`,
    `http://127。0。0。1:${canaryPort}/`,
  ])
    expect(await barred(url)).toBe(0);
});

incident('one-api#2388', 'a picture’s address in a request made the server fetch it from inside', async () => {
  visits.length = 0;
  const image = { type: 'image_url', image_url: { url: `http://127.0.0.1:${canaryPort}/metadata` } };
  const requested = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: [image] }] });
  await sendRaw(
    site.port,
    ['POST /v1/chat/completions HTTP/1.1', 'Host: x', `Authorization: Bearer sk-${key}`],
    requested,
  );
  expect(visits).toEqual([]);
});

incident('CVE-2026-1525', 'two different lengths of one body let a second request hide in the first', async () => {
  const received = await exchange(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 60\r\n\r\nhelloGET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n`,
  );
  expect(statusesIn(received).every((status) => status === 400)).toBe(true);
});

incident(
  'RFC 9112 6.3 (smuggling)',
  'length and chunks together were read by the one in front one way and behind it the other',
  async () => {
    for (const encoding of [
      'chunked',
      ' chunked',
      'xchunked',
      'chunked, identity',
      'identity, chunked',
      'chunked\r\nTransfer-Encoding: identity',
    ]) {
      const received = await exchange(
        `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: ${encoding}\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n`,
      );
      // Whoever is asked twice has been smuggled to.
      expect([encoding, statusesIn(received).length <= 1]).toEqual([encoding, true]);
    }
  },
);

incident('CVE-2026-44456', 'the limit of a body did not hold for one that came in chunks', async () => {
  const part = 'x'.repeat(64 * 1024);
  const chunks = `${part.length.toString(16)}\r\n${part}\r\n`.repeat(40);
  const received = await exchange(
    `POST /api/user/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
  );
  expect(statusesIn(received)[0]).toBeGreaterThanOrEqual(400);
});

incident('CVE-2026-22036', 'a small packed body was unpacked without a limit', async () => {
  const bomb = gzipSync(Buffer.alloc(80 * 1024 * 1024, 32));
  expect(bomb.length).toBeLessThan(200_000);
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: x',
    `Authorization: Bearer sk-${key}`,
    'Content-Encoding: gzip',
  ];
  const rejected = await sendRaw(site.port, head, bomb);
  expect(rejected.status).toBe(400);
});

incident(
  'Bun JSON.stringify, depth 50,000',
  'a body of brackets kept the one thread busy for two seconds',
  async () => {
    const nested = `{"model":"gpt-4o-mini","messages":${'['.repeat(50_000)}${']'.repeat(50_000)}}`;
    const startedAt = performance.now();
    const { status } = await sendRaw(
      site.port,
      ['POST /v1/chat/completions HTTP/1.1', 'Host: x', `Authorization: Bearer sk-${key}`],
      nested,
    );
    expect(status).toBe(400);
    expect(performance.now() - startedAt).toBeLessThan(2000);
  },
);

incident('prototype pollution', '`__proto__` in a body changed what all objects have', async () => {
  const polluted = body.replace(
    '{',
    '{"__proto__":{"stream":true,"polluted":1},"constructor":{"prototype":{"polluted":1}},',
  );
  await sendRaw(
    site.port,
    ['POST /v1/chat/completions HTTP/1.1', 'Host: x', `Authorization: Bearer sk-${key}`],
    polluted,
  );
  await sendRaw(site.port, ['POST /api/user/login HTTP/1.1', 'Host: x', 'Content-Type: application/json'], polluted);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

incident('CVE-2026-49468', 'rights followed the path in Host, work the path that was asked for', async () => {
  for (const host of ['x/v1/models?', '/healthz', 'x#/healthz', 'x@/healthz', 'localhost:80/api/status', 'x y', '']) {
    const [status] = statusesIn(
      await exchange(`GET /api/user/self HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
    );
    expect([host, status]).toEqual([host, 400]);
  }
  // Cut off after eight letters this would be another path.
  expect(statusesIn(await exchange('GET /healthy/healthz HTTP/1.0\r\n\r\n'))).toEqual([400]);
  expect(await exchange('GET /healthz HTTP/1.0\r\n\r\n')).toMatch(/200 OK[\s\S]*\{"ok":true\}/);
  const absolute = await exchange(
    'GET http://healthz/api/user/self HTTP/1.1\r\nHost: /healthz\r\nConnection: close\r\n\r\n',
  );
  expect(statusesIn(absolute)[0]).toBeGreaterThanOrEqual(400);
});

incident(
  'new-api: middleware/cors.go',
  'every origin was let in together with the cookies of whoever was logged in',
  async () => {
    for (const path of ['/v1/models', '/v1/chat/completions', '/api/status']) {
      const { headers } = await sendRaw(site.port, [`GET ${path} HTTP/1.1`, 'Host: x', 'Origin: https://evil.example']);
      expect(headers).not.toMatch(/access-control-allow-credentials: *true/);
    }
  },
);

incident('CVE-2026-25802 (files)', 'a picture or page that a model made ran as script where it was shown', async () => {
  const { safeType } = await import('../../server/relay/shared/safe-headers.ts');
  for (const type of [
    'text/html',
    'image/svg+xml',
    'application/xhtml+xml',
    'TEXT/HTML; charset=utf-8',
    'text/javascript',
  ])
    expect(safeType(type)).toBe('application/octet-stream');
});

incident(
  'lines of a log (CWE-117)',
  'a name with line breaks and colours wrote lines of its own into the log',
  async () => {
    const { safeLine } = await import('../../server/contract/safe-text.ts');
    const shown = safeLine('a\r\nb\u001b[31mred\u202eevil\u0007');
    for (const sign of ['\r', '\n', '\u001b', '\u202e', '\u0007']) expect(shown).not.toContain(sign);
  },
);

incident('Bun#32469', 'a client that read nothing made the server keep all of the answer', async () => {
  let sent = 0;
  let closed = false;
  const chunk = Buffer.from(
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'x'.repeat(16_384) }, finish_reason: null }] })}\n\n`,
  );
  upstream.script(async (response) => {
    response.on('close', () => {
      closed = true;
    });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    while (!closed && sent < 256 * 1024 * 1024) {
      sent += chunk.length;
      if (!response.write(chunk)) await new Promise((drained) => response.once('drain', drained));
    }
  });
  const socket = connect(site.port, '127.0.0.1');
  socket.pause();
  const requested = JSON.stringify({ model: 'gpt-4o-mini', stream: true, messages: [{ role: 'user', content: 'hi' }] });
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-${key}\r\nContent-Length: ${requested.length}\r\n\r\n${requested}`,
  );
  let before = -1;
  // Until nothing more is taken.
  await expect
    .poll(
      () => {
        const still = sent > 0 && sent === before;
        before = sent;
        return still;
      },
      { interval: 250, timeout: 20_000 },
    )
    .toBe(true);
  expect(sent).toBeLessThan(64 * 1024 * 1024);
  socket.destroy();
  await expect.poll(() => closed).toBe(true);
});
