/** Settings of agents in files that their user has already: changed where it is meant, and put back as they were. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse as parseJsonc } from 'jsonc-parser';
import { beforeEach, expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { writeContexts } from '../../cli/contexts.ts';
import { Backup, patched, placeIn, stateOf, writeFile } from '../../cli/parts/config-file.ts';
import { type Agent, type AgentCredential, type AgentPatch, agents } from '../../server/contract/agents.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'connect-'));
});

const settings = { url: 'https://site', models: ['gpt-5', 'claude-sonnet-4-5'], model: 'gpt-5' };
const keyed = { key: 'sk-secret' };
const asked = { command: '/opt/my gateway', arguments: ['token', 'print', '--for', 'x'] };

const put = (path: string, text: string, mode = 0o644): string => {
  const full = join(home, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, text);
  chmodSync(full, mode);
  return full;
};

async function write(patch: AgentPatch): Promise<string> {
  const state = stateOf(home, patch);
  const text = await patched(state, patch);
  new Backup(join(home, 'kept'), 'a').keep([{ state, text }]);
  writeFile(state.path, text);
  return state.path;
}

type Structured = Exclude<AgentPatch['format'], 'text'>;
const isStructured = (patch: AgentPatch): patch is AgentPatch & { readonly format: Structured } =>
  patch.format !== 'text';

const readers = {
  json: (text: string) => parseJsonc(text),
  toml: (text: string) => Bun.TOML.parse(text),
  yaml: (text: string) => parseYaml(text),
  env: (text: string) =>
    Object.fromEntries(
      text
        .trim()
        .split('\n')
        .filter((line) => !line.startsWith('#'))
        .map((line) => line.split(/=(.*)/s)),
    ),
} as const;

/** A file of its user's with a comment, in each format. */
const existing = {
  json: '{\n  // mine\n  "theme": "dark",\n  "env": { "KEEP": "1" }, /* here */\n  "security": {"auth": {"other": true}},\n}\n',
  toml: '# mine\nmodel = "old" # stays\n\n[mcp_servers.x]\ncommand = "run"\n\n[projects."/a b"]\ntrust_level = "trusted"\n',
  yaml: '# mine\ndark-mode: true # stays\nmodel: old\n',
  env: '# mine\nKEEP=1\n',
} as const;
const broken = {
  json: '{ "theme": ',
  toml: 'model = = 1\n',
  yaml: 'a: [1\n',
  env: Buffer.from([0xff, 0xfe]).toString('latin1'),
} as const;

const patchesOf = (agent: Agent, credential: AgentCredential = keyed) => agent.connects(settings, credential);
const cases = agents.flatMap((agent) =>
  patchesOf(agent)
    .filter(isStructured)
    .map((patch) => [`${agent.name} ${patch.paths[0]}`, patch] as const),
);

const valueAt = (tree: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((at, name) => (Object(at) as Record<string, unknown>)[name], tree);

test.each(cases)('%s: made where there is none, for its user alone, and gone again', async (_name, patch) => {
  const path = await write(patch);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const tree = readers[patch.format](readFileSync(path, 'utf8'));
  for (const [members, value] of patch.set) expect(valueAt(tree, members)).toEqual(value);
  expect(new Backup(join(home, 'kept'), 'a').undo(false)).toEqual([path]);
  expect(existsSync(path)).toBe(false);
});

test.each(cases)(
  '%s: what was there stays with its comments and mode, also after a second time, and comes back byte for byte',
  async (_name, patch) => {
    const before = existing[patch.format];
    const path = put((patch.paths[0] ?? '').slice(2), before, 0o640);
    await write(patch);
    const once = readFileSync(path, 'utf8');
    await write(patch);
    expect(readFileSync(path, 'utf8')).toBe(once);
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(once).toContain('mine');
    const tree = readers[patch.format](once);
    for (const [members, value] of patch.set) expect(valueAt(tree, members)).toEqual(value);
    const untouched = {
      json: ['theme', 'dark'],
      toml: ['mcp_servers', { x: { command: 'run' } }],
      yaml: ['dark-mode', true],
      env: ['KEEP', '1'],
    } as const;
    const [name, value] = untouched[patch.format];
    expect(valueAt(tree, [name])).toEqual(value);
    new Backup(join(home, 'kept'), 'a').undo(false);
    expect(readFileSync(path, 'utf8')).toBe(before);
    expect(statSync(path).mode & 0o777).toBe(0o640);
  },
);

test.each(cases)('%s: a file that cannot be parsed is refused and stays', async (_name, patch) => {
  const path = put((patch.paths[0] ?? '').slice(2), '');
  writeFileSync(path, broken[patch.format], 'latin1');
  await expect(write(patch)).rejects.toMatchObject({ code: 'usage' });
  expect(readFileSync(path, 'latin1')).toBe(broken[patch.format]);
});

test('a member that is no object where one is needed is refused', async () => {
  put('.claude/settings.json', '{"env": "no"}');
  const claude = patchesOf(agents.find(({ name }) => name === 'claude') as Agent)[0] as AgentPatch;
  await expect(write(claude)).rejects.toMatchObject({ code: 'usage' });
});

test('links are followed within the home folder and nowhere else, folders and files alike', () => {
  const outside = mkdtempSync(join(tmpdir(), 'outside-'));
  writeFileSync(join(outside, 'settings.json'), '{}');
  symlinkSync(outside, join(home, '.claude'));
  expect(() => placeIn(home, '~/.claude/settings.json')).toThrow(expect.objectContaining({ code: 'usage' }));
  expect(() => placeIn(home, '~/.claude/new.json')).toThrow(expect.objectContaining({ code: 'usage' }));
  put('dotfiles/config.toml', 'a = 1\n');
  mkdirSync(join(home, '.codex'));
  symlinkSync(join(home, 'dotfiles/config.toml'), join(home, '.codex/config.toml'));
  expect(placeIn(home, '~/.codex/config.toml')).toMatch(/dotfiles\/config\.toml$/);
  symlinkSync(join(home, 'nowhere'), join(home, '.gemini'));
  expect(() => placeIn(home, '~/.gemini/.env')).toThrow(expect.objectContaining({ code: 'usage' }));
  mkdirSync(join(home, '.aider.conf.yml'));
  expect(() => placeIn(home, '~/.aider.conf.yml')).toThrow(expect.objectContaining({ code: 'usage' }));
});

test('a home folder that is not there is named, in words', () => {
  expect(() => placeIn(join(home, 'gone'), '~/.codex/config.toml')).toThrow(
    expect.objectContaining({ code: 'usage', message: expect.stringContaining('there is no home directory') }),
  );
});

test('later changes of a file keep its backup from being put back, unless they are given up', async () => {
  const path = put('.aider.conf.yml', existing.yaml);
  const aider = patchesOf(agents.find(({ name }) => name === 'aider') as Agent)[0] as AgentPatch;
  await write(aider);
  writeFileSync(path, `${readFileSync(path, 'utf8')}new: 1\n`);
  const backup = new Backup(join(home, 'kept'), 'a');
  expect(() => backup.undo(false)).toThrow(expect.objectContaining({ code: 'usage' }));
  expect(readFileSync(path, 'utf8')).toContain('new: 1');
  backup.undo(true);
  expect(readFileSync(path, 'utf8')).toBe(existing.yaml);
  expect(backup.undo(false)).toEqual([]);
});

test('signed-in programs get no key in a file: Claude Code, Codex and opencode ask the command for it', () => {
  const patches = agents.filter(({ asksCommand }) => asksCommand === true).flatMap((agent) => patchesOf(agent, asked));
  expect(JSON.stringify(patches.map(({ set }) => set))).not.toContain('TOKEN');
  const [claude, codex, opencode, plugin] = patches;
  expect(claude?.set).toContainEqual([['apiKeyHelper'], "'/opt/my gateway' token print --for x"]);
  expect(codex?.set.at(-1)?.[1]).toMatchObject({
    auth: { command: '/opt/my gateway', args: ['token', 'print', '--for', 'x'] },
  });
  expect(opencode?.set.at(-1)?.[1]).toMatchObject({ options: { baseURL: 'https://site/v1' } });
  expect(plugin?.paths).toEqual(['~/.config/opencode/plugin/gateway.js']);
});

test.each<[string, AgentCredential]>([
  ['a key', keyed],
  ['a command', asked],
  ['the browser', { authorization: 'https://site/oauth/authorize', token: 'https://site/oauth/token' }],
])('Codex that signs in by %s reads the catalogue of the same site', (_name, credential) => {
  const codex = agents.find(({ name }) => name === 'codex') as Agent;
  expect(patchesOf(codex, credential)[0]?.set.at(-1)).toEqual([
    ['model_providers', 'gateway'],
    expect.objectContaining({ base_url: 'https://site/v1', model_catalog_url: 'https://site/v1/models' }),
  ]);
});

test('opencode knows how long a conversation with a model may be, where the site knows both sizes', () => {
  const opencode = agents.find(({ name }) => name === 'opencode') as Agent;
  const limits = { 'gpt-5': { context: 400_000, output: 128_000 } };
  const provider = opencode.connects({ ...settings, limits }, keyed)[0]?.set.at(-1)?.[1];
  expect(provider).toMatchObject({
    models: {
      'gpt-5': { name: 'gpt-5', limit: { context: 400_000, output: 128_000 } },
      'claude-sonnet-4-5': { name: 'claude-sonnet-4-5' },
    },
  });
  expect(JSON.stringify(provider)).not.toContain('"claude-sonnet-4-5","limit"');
});

test('opencode sends what the command prints, asks at most once a minute, and leaves other providers and keys alone', async () => {
  const counter = put('asked', '');
  const command = put('gateway', `#!/bin/sh\necho x >> ${counter}\necho "gas_$1"\n`, 0o755);
  const opencode = agents.find(({ name }) => name === 'opencode') as Agent;
  const plugin = patchesOf(opencode, { command, arguments: ['one'] }).at(-1) as AgentPatch;
  const path = await write(plugin);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const { Gateway } = (await import(path)) as {
    Gateway: () => Promise<
      Record<string, (input: object, output: { headers: Record<string, string> }) => Promise<void>>
    >;
  };
  const hooks = await Gateway();
  const headersFor = async (providerID: string, options: object) => {
    const output = { headers: {} as Record<string, string> };
    await hooks['chat.headers']?.({ model: { providerID }, provider: { options } }, output);
    return output.headers;
  };
  const [one, two] = await Promise.all([headersFor('gateway', {}), headersFor('gateway', {})]);
  expect([one, two]).toEqual([{ Authorization: 'Bearer gas_one' }, { Authorization: 'Bearer gas_one' }]);
  expect(await headersFor('other', {})).toEqual({});
  expect(await headersFor('gateway', { apiKey: 'sk-mine' })).toEqual({});
  expect(readFileSync(counter, 'utf8')).toBe('x\n');
  expect(backup().undo(false)).toEqual([path]);
  expect(existsSync(path)).toBe(false);
});

test('opencode says why there is no token, and asks anew afterwards', async () => {
  const command = put(
    'gateway',
    '#!/bin/sh\n[ -e "$0.in" ] && echo gas_1 && exit 0\necho "Signed out" >&2\nexit 4\n',
    0o755,
  );
  const opencode = agents.find(({ name }) => name === 'opencode') as Agent;
  const path = await write(patchesOf(opencode, { command, arguments: [] }).at(-1) as AgentPatch);
  const { Gateway } = (await import(path)) as {
    Gateway: () => Promise<
      Record<string, (input: object, output: { headers: Record<string, string> }) => Promise<void>>
    >;
  };
  const ask = (await Gateway())['chat.headers'];
  const output = { headers: {} as Record<string, string> };
  await expect(ask?.({ model: { providerID: 'gateway' } }, output)).rejects.toThrow('Signed out');
  put('gateway.in', '');
  await ask?.({ model: { providerID: 'gateway' } }, output);
  expect(output.headers).toEqual({ Authorization: 'Bearer gas_1' });
});

const patchNamed = (path: string, credential: AgentCredential = keyed): AgentPatch =>
  agents.flatMap((agent) => patchesOf(agent, credential)).find(({ paths }) => paths[0] === path) as AgentPatch;
const backup = () => new Backup(join(home, 'kept'), 'a');

test('a run that was interrupted between its files is undone without force', async () => {
  const path = put('.aider.conf.yml', existing.yaml);
  const aider = patchNamed('~/.aider.conf.yml');
  const state = stateOf(home, aider);
  const other = { path: join(home, '.new'), bytes: null };
  backup().keep([
    { state, text: await patched(state, aider) },
    { state: other, text: 'x' },
  ]);
  writeFile(other.path, 'x');
  expect(backup().undo(false)).toEqual([state.path, other.path]);
  expect([readFileSync(path, 'utf8'), existsSync(other.path)]).toEqual([existing.yaml, false]);
});

test('a second run that was interrupted before it wrote loses neither the way back nor the first file', async () => {
  const path = put('.aider.conf.yml', existing.yaml);
  const first = patchNamed('~/.aider.conf.yml');
  await write(first);
  const state = stateOf(home, first);
  backup().keep([{ state, text: 'never written' }]);
  await write({ ...first, set: [[['model'], 'third']] });
  expect(readFileSync(path, 'utf8')).toContain('model: third');
  backup().undo(false);
  expect(readFileSync(path, 'utf8')).toBe(existing.yaml);
  await write(first);
  backup().keep([{ state: stateOf(home, first), text: 'never written' }]);
  backup().undo(false);
  expect(readFileSync(path, 'utf8')).toBe(existing.yaml);
});

test('folders that were made are gone again, unless there is something in them', async () => {
  const opencode = patchNamed('~/.config/opencode/opencode.json');
  await write(opencode);
  backup().undo(false);
  expect(existsSync(join(home, '.config'))).toBe(false);
  await write(opencode);
  put('.config/mine', '');
  backup().undo(false);
  expect([existsSync(join(home, '.config/opencode')), existsSync(join(home, '.config/mine'))]).toEqual([false, true]);
});

test('a restore writes through no link that was set since, and over no folder', async () => {
  const outside = mkdtempSync(join(tmpdir(), 'outside-'));
  const path = put('.codex/config.toml', existing.toml);
  await write(patchNamed('~/.codex/config.toml'));
  const now = readFileSync(path, 'utf8');
  writeFileSync(join(outside, 'config.toml'), now);
  rmSync(join(home, '.codex'), { recursive: true });
  symlinkSync(outside, join(home, '.codex'));
  expect(() => backup().undo(true)).toThrow(expect.objectContaining({ code: 'usage' }));
  expect(readFileSync(join(outside, 'config.toml'), 'utf8')).toBe(now);
  rmSync(join(home, '.codex'));
  mkdirSync(path, { recursive: true });
  expect(() => backup().undo(true)).toThrow(expect.objectContaining({ code: 'usage' }));
});

test('a file that is read-only, one that is behind a file, and one without a home are refused', () => {
  put('.aider.conf.yml', existing.yaml, 0o444);
  put('.codex', '');
  for (const [at, written] of [
    [home, '~/.aider.conf.yml'],
    [home, '~/.codex/config.toml'],
    ['', '~/.gemini/.env'],
  ] as const)
    expect(() => placeIn(at, written), written).toThrow(expect.objectContaining({ code: 'usage' }));
});

test('a file in which the change would have no effect, because a member stands there twice, is refused', async () => {
  const text = '{"env": {"A": "1"}, "env": {"B": "2"}}';
  const path = put('.claude/settings.json', text);
  await expect(write(patchNamed('~/.claude/settings.json'))).rejects.toMatchObject({ code: 'usage' });
  expect(readFileSync(path, 'utf8')).toBe(text);
});

test('what else stands in a file of YAML keeps its bytes, ends of lines too', async () => {
  const lines = ['%YAML 1.1', '---', 'mode:   012 # octal', 'model: >-', '  old', '  one', 'list:', '- "a"', ''];
  const path = put('.aider.conf.yml', lines.join('\r\n'));
  await write(patchNamed('~/.aider.conf.yml'));
  const expected = [...lines.slice(0, 3), 'model: openai/gpt-5', ...lines.slice(6, 8)];
  const added = ['openai-api-base: https://site/v1', 'openai-api-key: sk-secret', ''];
  expect(readFileSync(path, 'utf8')).toBe([...expected, ...added].join('\r\n'));
});

test('variables keep their export and their ends of lines, and what only looks like one inside of quotes stays', async () => {
  const lines = [
    'export GEMINI_API_KEY="old" # mine',
    'NOTE="one',
    'GEMINI_MODEL=no',
    '"',
    'GOOGLE_API_KEY=past',
    'K=1',
    '',
  ];
  const path = put('.gemini/.env', lines.join('\r\n'));
  await write(patchNamed('~/.gemini/.env'));
  expect(readFileSync(path, 'utf8').split('\r\n')).toEqual([
    'export GEMINI_API_KEY=sk-secret # mine',
    ...lines.slice(1, 4),
    'K=1',
    'GOOGLE_GEMINI_BASE_URL=https://site',
    'GEMINI_MODEL=gpt-5',
    '',
  ]);
});

test('Claude Code has one way to its key after the other: the older one, and what leads past the gateway, goes', async () => {
  const path = put(
    '.claude/settings.json',
    '{"env": {"ANTHROPIC_API_KEY": "x", "CLAUDE_CODE_USE_BEDROCK": "1", "A": "1"}}',
  );
  const read = () => JSON.parse(readFileSync(path, 'utf8')) as { apiKeyHelper?: string; env: Record<string, string> };
  await write(patchNamed('~/.claude/settings.json'));
  expect(read()).toMatchObject({ env: { ANTHROPIC_AUTH_TOKEN: 'sk-secret', A: '1' } });
  expect(Object.keys(read().env)).not.toContain('ANTHROPIC_API_KEY');
  expect(Object.keys(read().env)).not.toContain('CLAUDE_CODE_USE_BEDROCK');
  await write(patchNamed('~/.claude/settings.json', asked));
  expect(read().apiKeyHelper).toContain('token print');
  expect(Object.keys(read().env)).not.toContain('ANTHROPIC_AUTH_TOKEN');
  await write(patchNamed('~/.claude/settings.json'));
  expect(read()).not.toHaveProperty('apiKeyHelper');
});

test('a variable of XDG that is set and empty counts as not set: no key is written below the working directory', () => {
  writeContexts({ XDG_CONFIG_HOME: '', HOME: home }, { current: '', contexts: {} });
  expect(existsSync(join(home, '.config/gateway/contexts.json'))).toBe(true);
});

const patchOf = (name: string, given: Parameters<Agent['connects']>[0] = settings): AgentPatch => {
  const agent = agents.find((each) => each.name === name);
  const patch = agent?.connects(given, keyed)[0];
  if (patch === undefined) throw new Error(name);
  return patch;
};

test.each([
  ['indented', 'models:\n  - name: mine # stays\n    provider: ollama\n    model: x\n\nrules:\n  - be brief\n'],
  ['at the margin', 'models:\n- name: mine\n  provider: ollama\n  model: x\n# the end\nrules: []\n'],
  [
    'at the end of the file, without a line end',
    'rules: []\nmodels:\n    - name: mine\n      provider: ollama\n      model: x',
  ],
  [
    'with ends of lines of Windows',
    'models:\r\n  - name: mine\r\n    provider: ollama\r\n    model: x\r\nrules: []\r\n',
  ],
])('Continue has its models beside those of its user, in a list %s, and only once', async (_name, list) => {
  const before = `name: My own\nversion: 2.0.0\nschema: v1\n${list}`;
  const path = put('.continue/config.yaml', before);
  const own = (parseYaml(before) as { models: unknown[]; rules: unknown }) ?? {};
  const item = (url: string, model: string) => ({
    ...{ name: `gateway ${model}`, provider: 'openai', model, apiBase: `${url}/v1`, apiKey: 'sk-secret' },
  });
  await write(patchOf('continue'));
  const once = readFileSync(path, 'utf8');
  const expected = {
    ...own,
    models: [...own.models, item('https://site', 'gpt-5'), item('https://site', 'claude-sonnet-4-5')],
  };
  expect(parseYaml(once)).toEqual(expected);
  for (const line of before.split(/\r?\n/)) expect(once).toContain(line);
  await write(patchOf('continue'));
  expect(readFileSync(path, 'utf8')).toBe(once);
  await write(patchOf('continue', { ...settings, url: 'https://moved' }));
  const moved = {
    ...own,
    models: [...own.models, item('https://moved', 'gpt-5'), item('https://moved', 'claude-sonnet-4-5')],
  };
  expect(parseYaml(readFileSync(path, 'utf8'))).toEqual(moved);
  new Backup(join(home, 'kept'), 'a').undo(false);
  expect(readFileSync(path, 'utf8')).toBe(before);
});

test('Continue gets a whole file where there is none, but none that hides its older one', async () => {
  const path = await write(patchOf('continue'));
  expect(parseYaml(readFileSync(path, 'utf8'))).toMatchObject({ version: '1.0.0', schema: 'v1', models: [{}, {}] });
  new Backup(join(home, 'kept'), 'a').undo(false);
  put('.continue/config.json', '{"models":[]}');
  expect(() => stateOf(home, patchOf('continue'))).toThrow(expect.objectContaining({ code: 'usage' }));
  put('.continue/config.yaml', 'name: x\nversion: 1\nschema: v1\n');
  expect(() => stateOf(home, patchOf('continue'))).not.toThrow();
});

test.each(['models: [{ name: mine }]\n', 'models: {}\n', 'models: mine\n', 'models:\n'])(
  'a list of models that is none in lines is refused and stays: %j',
  async (text) => {
    const path = put('.continue/config.yaml', text);
    await expect(write(patchOf('continue'))).rejects.toMatchObject({ code: 'usage' });
    expect(readFileSync(path, 'utf8')).toBe(text);
  },
);

test('opencode finds its schema in the file, so that it need not write it, and keeps another one', async () => {
  const path = await write(patchOf('opencode'));
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
    $schema: 'https://opencode.ai/config.json',
    model: 'gateway/gpt-5',
  });
  new Backup(join(home, 'kept'), 'a').undo(false);
  put('.config/opencode/opencode.json', '{ "$schema": "https://mine.example" }');
  await write(patchOf('opencode'));
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
    $schema: 'https://mine.example',
    model: 'gateway/gpt-5',
  });
});

test('Cline keeps its other providers and modes, and finds the version and the day that it insists on', async () => {
  const others = {
    modes: { voiceInput: { providerId: 'a', modelId: 'b' } },
    providers: { anthropic: { settings: {} } },
  };
  const path = put(
    '.cline/data/settings/providers.json',
    JSON.stringify({ version: 1, lastUsedProvider: 'anthropic', ...others }),
  );
  await write(patchOf('cline'));
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
    version: 1,
    lastUsedProvider: 'openai-compatible',
    modes: others.modes,
    providers: {
      ...others.providers,
      'openai-compatible': {
        settings: { provider: 'openai-compatible', apiKey: 'sk-secret', model: 'gpt-5', baseUrl: 'https://site/v1' },
        updatedAt: '1970-01-01T00:00:00.000Z',
        tokenSource: 'manual',
      },
    },
  });
});

test('Zed gets the address and the window of each model, and no key', async () => {
  const limits = { 'gpt-5': { context: 400_000, output: 128_000 } };
  const path = await write(patchOf('zed', { ...settings, limits }));
  const text = readFileSync(path, 'utf8');
  expect(text).not.toContain('sk-secret');
  expect(JSON.parse(text)).toEqual({
    language_models: {
      openai_compatible: {
        gateway: {
          api_url: 'https://site/v1',
          available_models: [
            { name: 'gpt-5', max_tokens: 400_000, max_output_tokens: 128_000 },
            { name: 'claude-sonnet-4-5', max_tokens: 128_000 },
          ],
        },
      },
    },
    agent: { default_model: { provider: 'gateway', model: 'gpt-5' } },
  });
});
