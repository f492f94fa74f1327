import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { optionRow } from '../../server/contract/options.ts';
import { createUnknownProxy } from '../../server/domain/status/unknown-proxy.ts';
import { bareAddress, clientAddress } from '../../server/http/client-ip.ts';
import { createConnections, defaultConnectionLimits } from '../../server/http/connections.ts';
import { openHttpServer } from '../../server/http/http-server.ts';
import type { Relay } from '../../server/relay/relay.ts';
import { compileSettings } from '../../server/relay/state/settings.ts';

const of = (proxies: string) =>
  compileSettings(new Map([['general_setting.trusted_proxies', proxies]]), 0).isTrustedProxy;
const own = '127.0.0.1,10.0.0.0/8,2001:db8::/32';

test.each([
  ['no proxy is trusted unless configured', '', '127.0.0.1', '203.0.113.7', '127.0.0.1'],
  ['the header of an untrusted address is ignored', own, '203.0.113.9', '198.51.100.1', '203.0.113.9'],
  ['a configured proxy is believed', own, '127.0.0.1', '203.0.113.7', '203.0.113.7'],
  ['what the client put in front is not', own, '127.0.0.1', '8.8.8.8, 203.0.113.7', '203.0.113.7'],
  ['a chain of our own proxies is walked', own, '127.0.0.1', '203.0.113.7, 10.1.2.3, 10.9.9.9', '203.0.113.7'],
  [
    'a forged entry of our own range ends the walk at the client',
    own,
    '127.0.0.1',
    '10.0.0.1, 203.0.113.7, 10.1.2.3',
    '203.0.113.7',
  ],
  ['one address of six is no network', '2001:db8::1', '2001:db8::2', '203.0.113.7', '2001:db8::2'],
  ['a proxy by its address of six', '2001:db8::1', '2001:db8::1', '203.0.113.7', '203.0.113.7'],
  ['only proxies: the outermost of them', own, '127.0.0.1', '10.1.2.3', '10.1.2.3'],
  ['garbage ends the walk', own, '127.0.0.1', '203.0.113.7, unknown, 10.1.2.3', '10.1.2.3'],
  ['an empty header', own, '127.0.0.1', '', '127.0.0.1'],
  ['ports and brackets', own, '::ffff:127.0.0.1', '[2a00::5]:4431', '2a00::5'],
  ['version 6 networks', own, '2001:db8::9', '2a00::5, 2001:db8:1::1', '2a00::5'],
  ['version 4 in version 6', own, '::ffff:10.0.0.5', '203.0.113.7:5000', '203.0.113.7'],
])('%s', (_name, proxies, peer, forwarded, expected) => {
  expect(clientAddress(peer, forwarded, of(proxies))).toBe(expected);
});

test('without the header the connection speaks for itself', () => {
  expect(clientAddress('127.0.0.1', null, of(own))).toBe('127.0.0.1');
  expect(clientAddress('::ffff:203.0.113.9', null, of(own))).toBe('203.0.113.9');
});

test.each(['', 'x', '1.2.3', '1.2.3.4.5', '[::1', 'localhost', '1.2.3.4 5'])('%j is no address', (text) => {
  expect(bareAddress(text)).toBe('');
});

test('the option takes addresses and networks alone', () => {
  const { kind, role } = optionRow('general_setting.trusted_proxies');
  expect(role).toBe(100);
  for (const good of ['', '127.0.0.1', '10.0.0.0/8, ::1', 'fd00::/8'])
    expect([good, kind.check(good)]).toEqual([good, null]);
  for (const bad of ['localhost', '10.0.0.0/33', '256.1.1.1', '::1/129', '*', '10.0.0.0/8;'])
    expect([bad, kind.check(bad)?.zh]).toEqual([bad, `不是 IP 地址或网段：${bad}`]);
});

test('the HTTP server gives relay and API the same address, whatever headers of its own a client sends', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'door-'));
  const socket = join(dir, 'control.sock');
  const control = createServer((request, response) => {
    const {
      'x-gateway-client-ip': ip,
      'x-gateway-as-user': user = null,
      'x-gateway-undeclared-proxy': undeclared = null,
    } = request.headers;
    response.end(JSON.stringify({ ip, user, undeclared }));
  });
  await new Promise<void>((resolve) => control.listen(socket, resolve));
  let trusted = '';
  const door = openHttpServer({
    host: '127.0.0.1',
    port: 0,
    mayServe: () => true,
    controlSocket: socket,
    consoleAsset: () => null,
    connections: createConnections(defaultConnectionLimits, null, Date.now),
    isTrustedProxy: (address) => of(trusted)(address),
    relay: {
      open: () => 0,
      reject: () => null,
      handle: async (_request: Request, _path: string, peer: { ip(): string }) => Response.json({ ip: peer.ip() }),
    } as unknown as Relay,
  });
  const ask = async (path: string) =>
    (
      await fetch(`http://127.0.0.1:${door.port}${path}`, {
        headers: { 'x-forwarded-for': '203.0.113.7', 'x-gateway-client-ip': '8.8.8.8', 'x-gateway-as-user': 'root' },
      })
    ).json();
  expect(await ask('/api/status')).toEqual({ ip: '127.0.0.1', user: null, undeclared: '127.0.0.1' });
  expect(await ask('/v1/models')).toEqual({ ip: '127.0.0.1' });
  trusted = '127.0.0.1';
  expect(await ask('/api/status')).toEqual({ ip: '203.0.113.7', user: null, undeclared: null });
  expect(await ask('/v1/models')).toEqual({ ip: '203.0.113.7' });
  await door.stop(10);
  control.close();
  rmSync(dir, { recursive: true });
});

test('an undeclared proxy nearby is reported for an hour; distant addresses with that header are not', async () => {
  let clock = 10_000_000;
  const proxy = createUnknownProxy(() => clock);
  for (const address of ['203.0.113.9', '2a00::5', '', 'x']) proxy.saw(address);
  expect(proxy.address()).toBe('');
  for (const peer of ['127.0.0.1', '10.1.2.3', '::1', 'fd00::7']) {
    proxy.saw(peer);
    expect(proxy.address()).toBe(peer);
  }
  proxy.saw('::ffff:172.17.0.1');
  expect(proxy.address()).toBe('172.17.0.1');
  clock += 3_600_000;
  expect(proxy.address()).toBe('');
});

test('an address alone is that address and none beside it', () => {
  const trusts = of('2001:db8::1,192.0.2.1');
  expect(trusts('2001:db8::1')).toBe(true);
  expect(trusts('2001:db8::')).toBe(false);
  expect(trusts('192.0.2.1')).toBe(true);
  expect(trusts('192.0.2.0')).toBe(false);
});
