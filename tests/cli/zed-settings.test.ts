/** Zed does not run where tests do: what is written for it is read by its own types instead. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { agents } from '../../server/contract/agents.ts';

/** https://github.com/zed-industries/zed/blob/main/crates/settings_content/src/language_model.rs and agent.rs: what is required, what may be there, nothing else. */
const u64 = z.int().nonnegative();
const model = z.strictObject({
  ...{ name: z.string(), max_tokens: u64 },
  ...{ display_name: z.string().optional(), max_output_tokens: u64.optional(), max_completion_tokens: u64.optional() },
});
const provider = z.strictObject({ api_url: z.url(), available_models: z.array(model) });
const settings = z.strictObject({
  language_models: z.strictObject({ openai_compatible: z.record(z.string(), provider) }),
  agent: z.strictObject({ default_model: z.strictObject({ provider: z.string(), model: z.string() }) }).optional(),
});

const zed = agents.find(({ name }) => name === 'zed');
const site = {
  url: 'https://gateway.example.com/ai',
  models: ['claude-sonnet-5', 'text-embedding-3-small', 'unknown-model'],
  limits: { 'claude-sonnet-5': { context: 1_000_000, output: 64_000 } },
};

test.each(['claude-sonnet-5', ''])(
  'the file for Zed is of its own types, whether a model is chosen or not: "%s"',
  (chosen) => {
    const written = zed?.connects({ ...site, model: chosen }, { key: 'sk-secret' })[0];
    const file: Record<string, unknown> = {};
    for (const [[first = '', ...rest], value] of written?.set ?? [])
      file[first] = rest.reduceRight<unknown>((inner, member) => ({ [member]: inner }), value);
    const read = settings.parse(file);
    const { api_url: address, available_models: models } = read.language_models.openai_compatible.gateway ?? {};
    expect(address).toBe('https://gateway.example.com/ai/v1');
    // Models that do not write are left out, one of an unknown size has a window all the same.
    expect(models).toEqual([
      { name: 'claude-sonnet-5', max_tokens: 1_000_000, max_output_tokens: 64_000 },
      { name: 'unknown-model', max_tokens: 128_000 },
    ]);
    expect(read.agent?.default_model).toEqual(chosen === '' ? undefined : { provider: 'gateway', model: chosen });
    expect(JSON.stringify(file)).not.toContain('sk-secret');
    // By hand it is the same file.
    const [byHand] = zed?.always({ ...site, key: 'sk-secret', model: chosen }).files ?? [];
    expect(settings.parse(JSON.parse(byHand?.text ?? ''))).toEqual(read);
  },
);
