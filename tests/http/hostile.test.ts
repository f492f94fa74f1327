import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Endpoint } from '../../server/contract/endpoint.ts';
import { endpoints } from '../../server/contract/endpoints/index.ts';
import { type ApiFixture, createApiFixture } from '../support/api.ts';
import { inShare, isLong } from '../support/often.ts';

let api: ApiFixture;
const reported: unknown[] = [];
beforeEach(async () => {
  reported.length = 0;
  api = await createApiFixture({ report: (error) => void reported.push(error) });
});
afterEach(() => api.close());

const values: readonly unknown[] = [
  null,
  '',
  'NaN',
  -1,
  1.5,
  Number.MAX_SAFE_INTEGER,
  1e300,
  '9007199254740991',
  '99999999999999999999',
  [],
  {},
  [1, 2],
  { $ne: 1 },
  { toString: 1 },
  [{ toString: 1 }],
  true,
  '\u0000',
  '\ud800',
  "'; DROP TABLE users; --",
  '%_\\',
  'x'.repeat(5000),
];
/** What lets the rest of a call through while one field is tried. */
const valid: Readonly<Record<string, unknown>> = {
  id: 1,
  ref: '1',
  key: 'Notice',
  value: 'text',
  action: 'enable',
  name: 'name',
  username: 'someone',
  password: 'password1',
  confirmPassword: 'password1',
  type: 1,
  models: 'm',
};

/** The site, its accounts and its options; not the calls that sign the caller out or end the account. */
const attempts = /^(setup|status|session|user|option|group|audit)\.(?!logout|close_self)/;

const fieldsOf = (row: Endpoint): string[] => {
  const { def } = row.input._zod as { readonly def: { readonly shape?: Readonly<Record<string, unknown>> } };
  return Object.keys(def.shape ?? {});
};

/** Percent-encoding has no spelling for half a character. */
const encode = (value: unknown): string =>
  encodeURIComponent((typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed()).slice(0, 2000);

test('no field of these calls can make them fail: they answer or refuse', async () => {
  let { headers } = await api.addUser('root', 100);
  let calls = 0;
  const failed: string[] = [];
  const rows = (endpoints as readonly Endpoint[]).filter((one) => attempts.test(one.id));
  for (const [at, row] of rows.entries()) {
    for (const [index, field] of fieldsOf(row).entries()) {
      for (const value of values.filter((_, of) => inShare(at + index, of))) {
        const fields: Record<string, unknown> = {};
        for (const name of fieldsOf(row)) if (valid[name] !== undefined) fields[name] = valid[name];
        fields[field] = value;
        const path = row.path.replace(/:(\w+)/g, (_whole, name: string) => encode(fields[name]) || '%20');
        const reads = row.method === 'GET' || row.method === 'DELETE';
        const query = reads
          ? `?${Object.entries(fields)
              .map(([name, item]) => `${name}=${encode(item)}`)
              .join('&')}`
          : '';
        const { status } = await api.send(row.method, path + query, reads ? undefined : fields, headers);
        calls++;
        const place = `${row.id} ${field}=${String(JSON.stringify(value)).slice(0, 40)}`;
        if (status >= 500) failed.push(`${place}: ${reported.splice(0).map(String).join()}`);
      }
    }
    // A new password of one's own ends nothing here, but a ban or a changed name of the first user may.
    headers = await api.login('root', 'password1').catch(() => headers);
  }
  expect(failed).toEqual([]);
  expect(reported).toEqual([]);
  expect(calls).toBeGreaterThan(isLong ? 500 : 160);
});

test.each([
  ['an array', '[1]'],
  ['a text', '"x"'],
  ['null', 'null'],
  [
    'a prototype',
    '{"__proto__":{"role":100},"constructor":{"prototype":{"role":100}},"username":"x","password":"password1"}',
  ],
  ['deep nesting', `${'['.repeat(20_000)}${']'.repeat(20_000)}`],
  ['cut off', '{"username":"x"'],
])('%s as a body is refused or ignored', async (_name, body) => {
  const { headers } = await api.addUser('root', 100);
  const { status } = await api.send('POST', '/api/user/', body, headers);
  expect(status).toBeLessThan(500);
  expect(({} as Record<string, unknown>).role).toBeUndefined();
  expect(reported).toEqual([]);
});
