/** `gateway support`: what helps, and nothing that a stranger may not read. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scrubbed, support } from '../../cli/commands/site/support.ts';
import { atTerminal } from './at-terminal.ts';
import { createRunner, type Runner } from './runner.ts';

let dir: string;
let runner: Runner;
/** Each is somewhere in the site or around it. */
const canaries = {
  key: 'sk-canary0Upstream0Key',
  host: 'canary-upstream.internal',
  channel: 'canary channel',
  user: 'canaryuser',
  password: 'canary-pw-1',
  site: 'Canary Industries',
  mail: 'canary@corp.example',
  smtp: 'canary-smtp-token',
  proxy: '203.0.113.77',
  secret: 'canary master key that is long enough',
};
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'support-'));
  runner = createRunner(dir, {
    GATEWAY_SECRET_KEY: canaries.secret,
    HTTPS_PROXY: 'http://canary:pw@canary-proxy:3128',
  });
  const file = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };
  await runner.run(['setup', '--username', canaries.user], { GATEWAY_ADMIN_PASSWORD: canaries.password });
  const key = file('key', canaries.key);
  const address = ['--base-url', `https://${canaries.host}/v1`];
  await runner.run(['channel', 'add', '--type', 'practice', '--name', canaries.channel, '--key-file', key, ...address]);
  await runner.run(['token', 'create', '--name', 'canary token']);
  const texts = [`SystemName=${canaries.site}`, `SMTPFrom=${canaries.mail}`, 'RetryTimes=4'];
  await runner.run(['option', 'set', ...texts, `SMTPToken=@${file('mail', canaries.smtp)}`]);
  await runner.run(['option', 'set', `general_setting.trusted_proxies=${canaries.proxy}`]);
  await runner.run(['channel', 'test', canaries.channel]).catch(() => undefined);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test('a support file says how the site is set up and how it does, and none of its names, addresses and secrets', async () => {
  const text = await runner.run(['support', '--file', '-']);
  for (const words of [
    'RetryTimes                 4',
    'fail channels',
    'channel #1',
    'own address',
    'gateway.db',
    'HTTPS_PROXY',
  ])
    expect(text).toContain(words);
  expect(text).toMatch(/SystemName +17 characters/);
  expect(text).toMatch(/HTTPS_PROXY +set/);
  for (const secret of [...Object.values(canaries), 'canary'])
    expect(text.toLowerCase()).not.toContain(secret.toLowerCase());
  expect(text).not.toContain('SMTPToken');
});

test('a support file is written where it was asked for, for its owner alone, and over nothing', async () => {
  const path = join(dir, 'bundle.txt');
  const shown = await runner.run(['support', '--file', path]);
  expect(readFileSync(path, 'utf8').split('\n')[0]).toBe(shown.split('\n')[0]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  await expect(runner.run(['support', '--file', path])).rejects.toMatchObject({ code: 'conflict' });
});

test('at a terminal it is shown first and asked about', async () => {
  const path = join(dir, 'asked.txt');
  const none = join(dir, 'none');
  const seen = await atTerminal(support, { global: { dataDir: none }, flags: { file: path } });
  expect(seen.out).toContain('== machine ==');
  expect(seen.questions).toEqual([`Write it to ${path}?`]);
  expect(existsSync(path)).toBe(true);
  // Looking at a site makes none.
  expect(existsSync(none)).toBe(false);
});

test('words of others are cleaned of keys, addresses, names and quotations', () => {
  const names = new Map([['main', 'channel #7']]);
  for (const [words, clean] of [
    ['main: 401 Incorrect API key: sk-proj-abcdef123456', 'channel #7: 401 Incorrect API key: ***'],
    ['Bearer eyJhbGciOiJIUzI1NiJ9.e30.x', 'Bearer ***'],
    ['connect ECONNREFUSED 10.1.2.3:443', 'connect ECONNREFUSED ***:443'],
    ['ask ops@example.com at https://user:pw@host.example/x?key=1', 'ask *** at https://***'],
    ['2001:db8:0:1::7 and 127.0.0.1', '***::7 and 127.0.0.1'],
    ['the message "my own long and private text" is refused', 'the message "***" is refused'],
    ['id 0123456789abcdef0123456789abcdef', 'id ***'],
    ['HTTP 429 after 2.5 s at 12:30:01', 'HTTP 429 after 2.5 s at 12:30:01'],
  ] as const)
    expect(scrubbed(words, names)).toBe(clean);
});
