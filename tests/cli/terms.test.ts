/** What a channel allows besides its ordinary price, by flags; and how the terminal tells what a request cost under such terms. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { explain } from '../../cli/commands/logs/explanation.ts';
import type { Context } from '../../cli/context.ts';
import { createRunner } from './runner.ts';

test('the members that a channel allows can be set, and other settings stay', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-terms-'));
  try {
    const runner = createRunner(dir, { GATEWAY_CHANNEL_KEY: 'sk-x' });
    await runner.run(['setup', '--username', 'root'], { GATEWAY_ADMIN_PASSWORD: 'password1' });
    await runner.run(['channel', 'add', '--type', 'practice', '--name', 'one', '--allow-tiers', 'on']);
    const setting = async () => ((await runner.json(['channel', 'get', 'one'])) as { setting: string }).setting;
    expect(JSON.parse(await setting())).toEqual({ allow_tiers: true });
    await runner.run(['channel', 'edit', 'one', '--region', 'eu']);
    expect(JSON.parse(await setting())).toEqual({ allow_tiers: true, region: 'eu' });
    await runner.run(['channel', 'edit', 'one', '--priority', '3']);
    expect(JSON.parse(await setting())).toEqual({ allow_tiers: true, region: 'eu' });
    await runner.run(['channel', 'edit', 'one', '--allow-tiers', 'off', '--region', '']);
    expect(await setting()).toBe('');
    await runner.run(['channel', 'edit', 'one', '--cache-marks', 'on', '--unknown-ids', 'refuse']);
    expect(JSON.parse(await setting())).toEqual({ cache_marks: true, unknown_ids: 'refuse' });
    await runner.run(['channel', 'edit', 'one', '--unknown-ids', 'default', '--cache-marks', 'off']);
    expect(await setting()).toBe('');
    await runner.run(['channel', 'edit', 'one', '--trusted-usage', 'off']);
    expect(JSON.parse(await setting())).toEqual({ trusted_usage: false });
    await runner.run(['channel', 'edit', 'one', '--trusted-usage', 'on']);
    expect(JSON.parse(await setting())).toEqual({ trusted_usage: true });
    await runner.run(['channel', 'edit', 'one', '--trusted-usage', 'default']);
    expect(await setting()).toBe('');
    await runner.run(['channel', 'edit', 'one', '--system-messages', 'first']);
    expect(JSON.parse(await setting())).toEqual({ system_messages: 'first' });
    await runner.run(['channel', 'edit', 'one', '--system-messages', 'default', '--streams', 'never']);
    expect(JSON.parse(await setting())).toEqual({ upstream_streams: 'never' });
    await runner.run(['channel', 'edit', 'one', '--streams', 'default']);
    expect(await setting()).toBe('');
    await runner.run([
      'channel',
      'edit',
      'one',
      '--off-after',
      '5/10/2',
      '--idle-seconds',
      '20',
      '--key-mode',
      'random',
    ]);
    await runner.run(['channel', 'edit', 'one', '--first-byte-seconds', '9']);
    expect(JSON.parse(await setting())).toEqual({
      off_after: { errors: 5, minutes: 10, half_open_minutes: 2 },
      upstream_idle_seconds: 20,
      key_mode: 'random',
      first_byte_seconds: 9,
    });
    await runner.run(['channel', 'edit', 'one', '--off-after', 'default', '--idle-seconds', '0']);
    await runner.run(['channel', 'edit', 'one', '--first-byte-seconds', '0', '--key-mode', 'turn']);
    expect(JSON.parse(await setting())).toEqual({ key_mode: 'turn' });
    const two = { GATEWAY_CHANNEL_KEY: 'sk-x\nsk-y' };
    await runner.run(['channel', 'add', '--type', 'practice', '--name', 'both', '--key-mode', 'turn'], two);
    expect(await runner.json(['channel', 'list'])).toHaveLength(2);
    for (const flags of [
      ['--off-after', '5/10'],
      ['--off-after', '5/0/1'],
      ['--off-after', '5/1/1/1'],
      ['--key-mode', 'maybe'],
      ['--system-messages', 'maybe'],
      ['--streams', 'maybe'],
      ['--cache-marks', 'maybe'],
      ['--unknown-ids', 'maybe'],
      ['--trusted-usage', 'maybe'],
    ])
      await expect(runner.run(['channel', 'edit', 'one', ...flags])).rejects.toMatchObject({ code: 'usage' });
    await expect(runner.run(['channel', 'edit', 'one', '--allow-tiers', 'maybe'])).rejects.toMatchObject({
      code: 'usage',
    });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test('the explanation names the factor, the calls, and what had no price', async () => {
  const lines: string[] = [];
  const other = {
    model_ratio: 2.5,
    model_price: -1,
    completion_ratio: 5,
    group_ratio: 1,
    input: 3_410,
    output: 874,
    surcharges: { 'speed:fast': 6 },
    iterations: [
      { type: 'compaction', input: 682, output: 0 },
      {
        type: 'advisor_message',
        model: 'm',
        input: 2_728,
        output: 874,
        prices: { model_ratio: 1.5, completion_ratio: 5 },
      },
    ],
    unpriced: ['tool:teleport'],
    dropped: ['/service_tier: priority is not allowed by the channel'],
  };
  // (682 x 2.5 + (2,728 + 874 x 5) x 1.5) x 6
  const quota = 74_112;
  const row = { id: 1, request_id: 'r', created_at: 0, model_name: 'x', quota, other: JSON.stringify(other) };
  const context = {
    language: 'en',
    say: (_zh: string, en: string) => en,
    client: async () => ({ call: async () => row }),
    output: { object: (_value: unknown, printed: string[]) => lines.push(...printed) },
  } as unknown as Context;
  await explain(context, {}, '1', []);
  const printed = lines.join('\n');
  expect(printed).toContain('input (1. compaction): 682 x 1 = 682');
  expect(printed).toContain('output (2. advisor_message m): 874 x 5 = 4370 (model ratio 1.5)');
  expect(printed).toContain('x speed:fast 6');
  expect(printed).toContain('! no price: tool:teleport');
  expect(printed).toContain('- not sent upstream: /service_tier: priority');
  expect(printed).toContain(`= ${quota} quota`);
  expect(printed).toContain('equals the charge');
});

test.each([
  ['en', 'not charged'],
  ['zh', '未扣费'],
] as const)('the explanation of a channel test says that nothing was charged (%s)', async (language, words) => {
  const lines: string[] = [];
  const other = { model_ratio: 2.5, model_price: -1, completion_ratio: 1, group_ratio: 1, input: 5, output: 5 };
  const row = { id: 1, request_id: 'r', created_at: 0, model_name: 'x', quota: 0, other: JSON.stringify(other) };
  const context = {
    language,
    say: (zh: string, en: string) => (language === 'zh' ? zh : en),
    client: async () => ({ call: async () => row }),
    output: { object: (_value: unknown, printed: string[]) => lines.push(...printed) },
  } as unknown as Context;
  await explain(context, {}, '1', []);
  expect(lines.join('\n')).toContain(`= 25 quota`);
  expect(lines.join('\n')).toContain(words);
  expect(lines.join('\n')).not.toMatch(/equals the charge|与扣费一致/);
});
