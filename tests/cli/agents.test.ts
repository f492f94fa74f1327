/** What each agent is given so that it asks this gateway and nobody else; the real programs are run by `scripts/lab/agents/agents.ts`. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { prepareRun } from '../../cli/parts/agent-run.ts';
import { agentOf, agents, lineFor, modelFor, setupSteps } from '../../server/contract/agents.ts';
import { createRunner } from './runner.ts';

const details = { url: 'http://gw:3000', key: 'sk-own', models: ['claude-x', 'gpt-x'], model: 'gpt-x' };
const named = (name: string) => {
  const agent = agents.find((one) => one.name === name);
  if (agent === undefined) throw new Error(name);
  return agent;
};

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-agents-test-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe('one run', () => {
  test('of codex: by arguments, because it does not read OPENAI_BASE_URL', () => {
    const run = prepareRun(named('codex'), details, dir);
    expect(run.environment).toEqual({ OPENAI_BASE_URL: undefined, GATEWAY_API_KEY: 'sk-own', CODEX_API_KEY: 'sk-own' });
    expect(run.arguments).toEqual([
      '-c',
      'model_provider="gateway"',
      '-c',
      'model_providers.gateway.name="gateway"',
      '-c',
      'model_providers.gateway.base_url="http://gw:3000/v1"',
      '-c',
      'model_providers.gateway.model_catalog_url="http://gw:3000/v1/models"',
      '-c',
      'model_providers.gateway.env_key="GATEWAY_API_KEY"',
      '-c',
      'model_providers.gateway.wire_api="responses"',
      '-c',
      'model_providers.gateway.stream_max_retries=2',
      '-c',
      'model="gpt-x"',
    ]);
    run.close();
  });

  test('of claude: its smaller models are served, too, and a key of its own does not lead it past', () => {
    const { environment } = prepareRun(named('claude'), details, dir);
    expect(environment).toMatchObject({
      ANTHROPIC_BASE_URL: 'http://gw:3000',
      ANTHROPIC_AUTH_TOKEN: 'sk-own',
      ANTHROPIC_API_KEY: undefined,
      ANTHROPIC_MODEL: 'gpt-x',
      ANTHROPIC_DEFAULT_HAIKU_MODEL: 'gpt-x',
    });
    expect('ANTHROPIC_API_KEY' in environment).toBe(true);
    const served = { ...details, models: ['claude-haiku-4-5', 'claude-sonnet-5'], model: 'claude-sonnet-5' };
    expect(prepareRun(named('claude'), served, dir).environment).toMatchObject({
      ANTHROPIC_DEFAULT_HAIKU_MODEL: 'claude-haiku-4-5',
    });
  });

  test('of gemini: the user’s own settings, with the way of signing in on top, and nothing of theirs changed', () => {
    const home = join(dir, '.gemini');
    mkdirSync(home);
    const own = JSON.stringify({ ui: { theme: 'x' }, security: { auth: { selectedType: 'oauth-personal' }, more: 1 } });
    writeFileSync(join(home, 'settings.json'), own);
    writeFileSync(join(home, 'memory.md'), 'remember');
    const run = prepareRun(named('gemini'), details, dir);
    const place = join(String(run.environment.GEMINI_CLI_HOME), '.gemini');
    expect(JSON.parse(readFileSync(join(place, 'settings.json'), 'utf8'))).toEqual({
      ui: { theme: 'x' },
      security: { auth: { selectedType: 'gemini-api-key' }, more: 1 },
    });
    expect(readFileSync(join(place, 'memory.md'), 'utf8')).toBe('remember');
    run.close();
    expect(existsSync(place)).toBe(false);
    expect(readFileSync(join(home, 'settings.json'), 'utf8')).toBe(own);
    expect(readFileSync(join(home, 'memory.md'), 'utf8')).toBe('remember');
  });

  test('of opencode: a provider with every model of the key', () => {
    const { environment } = prepareRun(named('opencode'), details, dir);
    expect(JSON.parse(String(environment.OPENCODE_CONFIG_CONTENT))).toMatchObject({
      model: 'gateway/gpt-x',
      provider: {
        gateway: {
          options: { baseURL: 'http://gw:3000/v1', apiKey: 'sk-own' },
          models: { 'claude-x': {}, 'gpt-x': {} },
        },
      },
    });
  });

  test('of qwen and aider', () => {
    const qwen = prepareRun(named('qwen'), details, dir);
    const settings = String(qwen.environment.QWEN_CODE_SYSTEM_SETTINGS_PATH);
    expect(JSON.parse(readFileSync(settings, 'utf8'))).toEqual({ security: { auth: { selectedType: 'openai' } } });
    expect(qwen.environment).toMatchObject({ OPENAI_BASE_URL: 'http://gw:3000/v1', OPENAI_MODEL: 'gpt-x' });
    qwen.close();
    expect(existsSync(settings)).toBe(false);
    expect(prepareRun(named('aider'), details, dir).environment).toEqual({
      OPENAI_API_BASE: 'http://gw:3000/v1',
      OPENAI_API_KEY: 'sk-own',
      AIDER_MODEL: 'openai/gpt-x',
    });
  });
});

test('an agent is known by its program, wherever that lies', () => {
  for (const [command, name] of [
    ['claude', 'claude'],
    ['/usr/local/bin/codex', 'codex'],
    ['C:\\tools\\gemini.cmd', 'gemini'],
  ] as const)
    expect(agentOf(command)?.name).toBe(name);
  expect(agentOf('python')).toBeUndefined();
});

test('the one line starts an agent, sets up one that reads nothing but its own file, or says what is entered by hand', () => {
  const lines = ['claude', 'aider', 'cline', 'continue', 'zed', 'cursor'].map((name) => lineFor(named(name)));
  expect(lines).toEqual([
    'gateway exec -- claude',
    'gateway exec -- aider',
    'gateway connect cline',
    'gateway connect continue',
    'gateway connect zed',
    'gateway agents cursor',
  ]);
});

test('of cursor: the three fields of its settings, with the address that clients of OpenAI take', () => {
  expect(setupSteps(named('cursor'), details)).toEqual([
    { path: 'Cursor Settings › Models › API Keys › OpenAI API Key', text: 'sk-own' },
    { path: 'Cursor Settings › Models › API Keys › Override OpenAI Base URL', text: 'http://gw:3000/v1' },
    { path: 'Cursor Settings › Models › Add model', text: 'gpt-x' },
  ]);
  expect(setupSteps(named('cursor'), { ...details, model: '' })).toHaveLength(2);
});

test('the model to begin with is one of those the agent is made for, else one that writes', () => {
  const models = ['text-embedding-3-small', 'gpt-4o', 'claude-opus-4-8', 'claude-sonnet-4-6', 'claude-sonnet-5'];
  expect(modelFor(named('claude'), models)).toBe('claude-sonnet-5');
  expect(modelFor(named('codex'), models)).toBe('gpt-4o');
  expect(modelFor(named('qwen'), models)).toBe('gpt-4o');
  expect(modelFor(named('qwen'), [])).toBe('');
});

test('settings made by hand lead to the same place', () => {
  for (const agent of agents) {
    const steps = setupSteps(agent, details);
    const words = steps.map(({ text }) => text).join('\n');
    expect(words, agent.name).toContain('http://gw:3000');
    expect(words, agent.name).toContain('sk-own');
    for (const { path, text } of steps) if (path.endsWith('.json')) expect(() => JSON.parse(text)).not.toThrow();
  }
});

describe('the commands', () => {
  const setUp = async () => {
    const runner = createRunner(dir, { GATEWAY_CHANNEL_KEY: 'sk-x', GATEWAY_ADMIN_PASSWORD: 'password1' });
    await runner.run(['setup', '--username', 'root']);
    await runner.run(['token', 'create', '--name', 'laptop', '--quota', 'unlimited']);
    return runner;
  };

  test('agents prints each, one, and says which there are', async () => {
    const runner = await setUp();
    const all = await runner.run(['agents']);
    for (const { label } of agents) expect(all).toContain(label);
    const codex = await runner.run(['agents', 'codex', '--token', 'laptop', '--model', 'gpt-x']);
    expect(codex).toContain('# ~/.codex/config.toml');
    expect(codex).toContain('base_url = "http://127.0.0.1:3000/v1"');
    expect(codex).toMatch(/export GATEWAY_API_KEY='sk-\w+'/);
    expect(codex).toContain('does not read OPENAI_BASE_URL');
    const [row] = (await runner.json(['agents', 'qwen'])) as { name: string; steps: unknown[] }[];
    expect(row).toMatchObject({ name: 'qwen', run: 'gateway exec -- qwen' });
    await expect(runner.run(['agents', 'nobody'])).rejects.toMatchObject({ code: 'usage' });
  });

  test('connect shows the change without the key, writes it when told to, tests it, and takes it back', async () => {
    await setUp();
    const home = join(dir, 'home');
    const runner = createRunner(dir, { HOME: home, PATH: '/nowhere' });
    const file = join(home, '.codex', 'config.toml');
    mkdirSync(join(home, '.codex'), { recursive: true });
    writeFileSync(file, '# mine\nmodel = "old"\n');
    const said = await runner.run(['connect', '--dry-run']);
    expect(said).toContain('model_providers.gateway');
    expect(said).not.toMatch(/sk-\w{8}/);
    expect(said).not.toContain('.claude');
    expect(readFileSync(file, 'utf8')).toBe('# mine\nmodel = "old"\n');
    await expect(runner.run(['connect', 'codex'])).rejects.toMatchObject({ code: 'input_needed' });
    const [row] = (await runner.json(['connect', 'codex', '--yes', '--model', 'gpt-x'])) as {
      files: string[];
      test: string;
    }[];
    expect(row).toMatchObject({ name: 'codex', test: 'unreachable' });
    expect(readFileSync(file, 'utf8')).toMatch(/# mine\n.*model = "gpt-x".*sk-\w{40}/s);
    expect(await runner.run(['connect', '--undo'])).toContain('codex: as it was');
    expect(readFileSync(file, 'utf8')).toBe('# mine\nmodel = "old"\n');
    await expect(runner.run(['connect', 'nobody'])).rejects.toMatchObject({ code: 'usage' });
  });

  test('connect gives each program a key of its own once its user agrees, the same one the next time, and no key where it writes nothing', async () => {
    await setUp();
    const home = join(dir, 'home');
    const runner = createRunner(dir, { HOME: home, PATH: '/nowhere' });
    const names = async () => ((await runner.json(['token', 'list'])) as { name: string }[]).map(({ name }) => name);
    const keyIn = (text: string) => /sk-\w{48}/.exec(text)?.[0];
    const cline = join(home, '.cline', 'data', 'settings', 'providers.json');
    const codex = join(home, '.codex', 'config.toml');
    mkdirSync(join(home, '.codex'), { recursive: true });
    expect(await runner.run(['connect', 'cline', '--dry-run'])).toContain(`+ new API key Cline on ${hostname()}`);
    await expect(runner.run(['connect', 'cline'])).rejects.toMatchObject({ code: 'input_needed' });
    writeFileSync(codex, 'model = = 1');
    await expect(runner.run(['connect', 'codex', '--yes'])).rejects.toMatchObject({ code: 'usage' });
    expect(await names()).toEqual(['laptop']);
    rmSync(codex);
    await runner.run(['connect', 'cline', 'codex', '--yes']);
    const written = [keyIn(readFileSync(cline, 'utf8')), keyIn(readFileSync(codex, 'utf8'))];
    expect(new Set(written).size).toBe(2);
    expect(written).not.toContain(undefined);
    const made = [`Cline on ${hostname()}`, `Codex on ${hostname()}`];
    expect((await names()).sort()).toEqual([...made, 'laptop']);
    for (const [index, name] of made.entries())
      expect(await runner.run(['agents', 'qwen', '--token', name])).toContain(written[index]);
    await runner.run(['connect', 'cline', '--undo']);
    await runner.run(['connect', 'cline', '--yes']);
    expect(keyIn(readFileSync(cline, 'utf8'))).toBe(written[0]);
    expect(await names()).toHaveLength(3);
    await runner.run(['token', 'disable', made[0] ?? '', '--yes']);
    await expect(runner.run(['connect', 'cline', '--yes'])).rejects.toMatchObject({ code: 'not_found' });
    await runner.run(['connect', 'cline', '--yes', '--token', 'laptop']);
    expect(keyIn(readFileSync(cline, 'utf8'))).not.toBe(written[0]);
    expect(await names()).toHaveLength(3);
  });

  test('connect writes nothing for cursor, which has no file for it, and says where its fields are listed', async () => {
    await setUp();
    const home = join(dir, 'home');
    const runner = createRunner(dir, { HOME: home, PATH: '/nowhere' });
    for (const flag of ['--yes', '--dry-run'])
      expect(await runner.json(['connect', 'cursor', flag])).toEqual([
        { name: 'cursor', files: [], test: expect.stringContaining('gateway agents cursor') },
      ]);
    expect(existsSync(home)).toBe(false);
    const fields = await runner.run(['agents', 'cursor', '--token', 'laptop', '--model', 'gpt-x']);
    expect(fields).toContain('# Cursor Settings › Models › API Keys › Override OpenAI Base URL');
    expect(fields).toContain('http://127.0.0.1:3000/v1');
    expect(fields).toMatch(/^sk-\w{48}$/m);
    expect(fields).toContain('public https address');
  });

  test('connect --browser has Codex sign in by itself at the address that it asks, keeps no key, and takes it back', async () => {
    await setUp();
    const home = join(dir, 'home');
    const file = join(home, '.codex', 'config.toml');
    mkdirSync(join(home, '.codex'), { recursive: true });
    writeFileSync(file, '# mine\nmodel = "old"\n');
    let allowed = true;
    const asked: string[] = [];
    const site = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch(request) {
        asked.push(new URL(request.url).pathname);
        const own = new URL(request.url).origin;
        const endpoints = {
          authorization_endpoint: `${own}/ai/authorize`,
          token_endpoint: 'https://other.example/token',
        };
        return allowed ? Response.json(endpoints) : new Response('', { status: 404 });
      },
    });
    try {
      const url = `http://127.0.0.1:${site.port}`;
      const runner = createRunner(dir, { HOME: home, PATH: '/nowhere' });
      const run = (...words: string[]) => runner.json(['connect', ...words, '--browser', '--url', url, '--yes']);
      expect(await run()).toEqual([{ name: 'codex', files: [file], test: expect.stringContaining('browser') }]);
      const read = Bun.TOML.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
      expect(read).toEqual({
        model: 'old',
        model_provider: 'gateway',
        model_providers: {
          gateway: {
            name: 'gateway',
            base_url: `${url}/v1`,
            model_catalog_url: `${url}/v1/models`,
            wire_api: 'responses',
            stream_max_retries: 2,
            // The other address is none of this site's.
            gateway_oauth: {
              authorization_url: `${url}/ai/authorize`,
              token_url: `${url}/oauth/token`,
              client_id: 'codex',
            },
          },
        },
      });
      expect(asked).toEqual(['/.well-known/oauth-authorization-server']);
      expect(await runner.run(['connect', '--undo'])).toContain('codex: as it was');
      expect(readFileSync(file, 'utf8')).toBe('# mine\nmodel = "old"\n');
      await expect(run('claude')).rejects.toMatchObject({ code: 'usage' });
      allowed = false;
      await expect(run('codex')).rejects.toMatchObject({ code: 'usage', params: { detail: `${url}: HTTP 404` } });
      expect(readFileSync(file, 'utf8')).toBe('# mine\nmodel = "old"\n');
    } finally {
      await site.stop(true);
    }
  });

  test('exec starts the program with what it needs and ends as it ends; --for names the agent', async () => {
    await setUp();
    const program = join(dir, 'codex');
    writeFileSync(program, '#!/bin/sh\necho "$GATEWAY_API_KEY|$*"\nexit 7\n', { mode: 0o755 });
    const exec = async (args: readonly string[]) => {
      const main = resolve(import.meta.dirname, '../../cli/main.ts');
      const child = Bun.spawn([process.execPath, main, 'exec', '--data-dir', join(dir, 'data'), ...args], {
        env: { HOME: dir, PATH: '/usr/bin:/bin' },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      });
      return { out: await new Response(child.stdout).text(), code: await child.exited };
    };
    const { out, code } = await exec(['--model', 'gpt-x', '--', program, 'exec', 'hi']);
    expect(code).toBe(7);
    expect(out).toMatch(/^sk-\w+\|-c model_provider="gateway" .*model="gpt-x" exec hi\n$/);
    const other = join(dir, 'wrapper');
    writeFileSync(other, '#!/bin/sh\necho "$ANTHROPIC_BASE_URL|$*"\n', { mode: 0o755 });
    expect((await exec(['--for', 'claude', '--', other, 'hi'])).out).toBe('http://127.0.0.1:3000|hi\n');
    expect((await exec(['--for', 'openai', '--', other, 'hi'])).out).toBe('|hi\n');
  });

  test('a channel’s dialect is a flag, and a whole audit trail is said to be whole', async () => {
    const runner = await setUp();
    await runner.run(['channel', 'add', '--type', 'practice', '--name', 'one', '--dialect', 'anthropic-messages']);
    const setting = async () => ((await runner.json(['channel', 'get', 'one'])) as { setting: string }).setting;
    expect(JSON.parse(await setting())).toEqual({ dialect: 'anthropic-messages' });
    await runner.run(['channel', 'edit', 'one', '--allow-tiers', 'on']);
    expect(JSON.parse(await setting())).toEqual({ dialect: 'anthropic-messages', allow_tiers: true });
    await runner.run(['channel', 'edit', 'one', '--dialect', 'auto', '--allow-tiers', 'off']);
    expect(await setting()).toBe('');
    await expect(runner.run(['channel', 'edit', 'one', '--dialect', 'latin'])).rejects.toMatchObject({ code: 'usage' });
    const output = await runner.run(['audit', 'verify']);
    expect(output).toMatch(/^the audit trail is intact: \d+ entries checked$/);
  });
});
