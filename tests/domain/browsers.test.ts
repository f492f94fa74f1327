import { expect, test } from 'vitest';
import { createVault } from '../../server/domain/secrets/vault.ts';
import { browserOf } from '../../server/domain/sessions/browser.ts';
import { createDevices } from '../../server/domain/sessions/devices.ts';

const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)';

test.each([
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/126.0.0.0 Safari/537.36 Edg/126.0`, 'Edge · Windows'],
  [`Mozilla/5.0 (Linux; Android 10) ${webkit} Chrome/126.0 Mobile Safari/537.36 EdgA/126.0`, 'Edge · Android'],
  [`Mozilla/5.0 (X11; Linux x86_64) ${webkit} Chrome/126.0.0.0 Safari/537.36 OPR/110.0`, 'Opera · Linux'],
  ['Opera/9.80 (Windows NT 6.1) Presto/2.12 Version/12.16', 'Opera · Windows'],
  ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:127.0) Gecko/20100101 Firefox/127.0', 'Firefox · macOS'],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605 FxiOS/127.0 Mobile Safari/605',
    'Firefox · iOS',
  ],
  [`Mozilla/5.0 (Linux; Android 13) ${webkit} Chrome/116 Mobile MicroMessenger/8.0.49`, 'WeChat · Android'],
  ['Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605 CriOS/126.0 Mobile Safari/604.1', 'Chrome · iOS'],
  [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${webkit} Chrome/126.0 Safari/537.36`, 'Chrome · ChromeOS'],
  ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605 Version/17.5 Safari/605.1', 'Safari · macOS'],
  ['curl/8.5.0', 'curl'],
  ['python-requests/2.32', 'python-requests'],
  ['Windows', 'Windows'],
  ['x'.repeat(60), 'x'.repeat(40)],
  ['', ''],
])('%s is %s', (agent, expected) => expect(browserOf(agent)).toBe(expected));

test('a browser is remembered for the five accounts that it was in last', () => {
  const vault = createVault(Buffer.from('a master key'));
  const devices = createDevices(vault, () => 0);
  const people = Array.from({ length: 7 }, (_, id) => ({ id, password_hash: `hash ${id}` }));
  const cookie = people.reduce((before, person) => devices.store(before, person), '');
  const known = people.filter((person) => devices.nameOf(cookie, person) !== '');
  expect(known.map(({ id }) => id)).toEqual([2, 3, 4, 5, 6]);
});
