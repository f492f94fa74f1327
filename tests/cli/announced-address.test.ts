/** The file in which a server says where it listens. */
import { mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { announce } from '../../cli/parts/access.ts';

test('the address of a server is whole as soon as its file is there, belongs to its owner, and is forgotten', () => {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-address-'));
  const file = join(dir, 'gateway.url');
  announce(dir, 'http://127.0.0.1:1');
  const first = statSync(file).ino;
  const forget = announce(dir, 'http://127.0.0.1:2');
  // A file of its own took the place of the former one: nobody reads one that is half written.
  expect(statSync(file).ino).not.toBe(first);
  expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual(['http://127.0.0.1:2\n', 0o600]);
  expect(readdirSync(dir)).toEqual(['gateway.url']);
  forget();
  expect(readdirSync(dir)).toEqual([]);
});
