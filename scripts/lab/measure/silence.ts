/**
 * Silent streams behind a real nginx with its usual limit of 60 seconds: `node scripts/launch.mjs lab/measure/silence [--seconds N] [--clients FOLDER]`.
 * A fresh installation, an upstream that says nothing for so long, one client of each dialect; and the same with signs of life
 * switched off, which shows that the limit is real. With a folder, each program in it (`*.mjs`, `*.py`, `*.run`) is run too with
 * GATEWAY and GATEWAY_KEY, against a model `twice` that is silent for 20 seconds twice: an SDK that takes a sign of life for something else fails.
 * Needs nginx (`apt-get install nginx-light`).
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { endAll, freePort, ownProgram, start, waitForResponse } from '../../../cli/bench/process.ts';

const flagOf = (name: string): string | undefined => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
};
const seconds = Number(flagOf('--seconds') ?? 75);
const clients = flagOf('--clients');
const limitSeconds = 60;
const twiceSeconds = 20;

const frame = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const usage = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } })}\n\n`;
const words = ['first ', 'second'];

const upstream = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  async fetch(request) {
    const { model } = (await request.json()) as { model: string };
    const silences = model.startsWith('twice') ? [twiceSeconds, twiceSeconds] : [seconds, 0];
    const bytes = new TextEncoder();
    const answer = new ReadableStream({
      async start(controller) {
        for (const [at, silence] of silences.entries()) {
          await Bun.sleep(silence * 1000);
          controller.enqueue(bytes.encode(frame({ content: words[at] })));
        }
        controller.enqueue(bytes.encode(`${frame({}, 'stop')}${usage}data: [DONE]\n\n`));
        controller.close();
      },
    });
    return new Response(answer, { headers: { 'content-type': 'text/event-stream' } });
  },
});

const messages = [{ role: 'user', content: 'hi' }];
const dialects = (model: string): readonly (readonly [name: string, path: string, body: object])[] => [
  ['chat', '/v1/chat/completions', { model, messages, stream: true }],
  ['Responses', '/v1/responses', { model, input: 'hi', stream: true }],
  ['Messages', '/v1/messages', { model, messages, max_tokens: 9, stream: true }],
  [
    'Gemini',
    `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ],
  ['Cohere', '/v2/chat', { model, messages, stream: true }],
  ['Ollama', '/api/chat', { model, messages }],
];

/** @returns what came of it. */
async function ask(base: string, key: string, path: string, body: object): Promise<string> {
  const from = performance.now();
  let text = '';
  let status = 0;
  try {
    const response = await fetch(base + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    ({ status } = response);
    text = await response.text();
  } catch (error) {
    text = String(error);
  }
  const isWhole = status === 200 && words.every((word) => text.includes(word.trim()));
  return `${isWhole ? 'complete' : `NOT COMPLETE (${status})`} after ${((performance.now() - from) / 1000).toFixed(0)} s`;
}

const home = mkdtempSync(join(tmpdir(), 'gateway-silence-'));

async function installation(name: string, options: readonly string[]): Promise<{ base: string; key: string }> {
  const env = { GATEWAY_DATA_DIR: join(home, name) };
  const run = async (args: readonly string[], input: string): Promise<string> => {
    const child = Bun.spawn([...ownProgram, ...args], {
      env: { ...process.env, ...env },
      stdin: new Blob([input]),
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    if ((await child.exited) !== 0) throw new Error(`${args.join(' ')}: ${err}`);
    return out.trim();
  };
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], 'password1');
  const models = 'silent,twice';
  const address = ['--base-url', `http://127.0.0.1:${upstream.port}`, '--models', models];
  await run(['channel', 'add', '--type', 'deepseek', '--name', 'up', ...address, '--key-stdin'], 'k');
  for (const option of options) await run(['option', 'set', option], '');
  const key = await run(['token', 'create', '--name', 'silence', '--quota', 'unlimited', '-q'], '');
  const port = freePort();
  start(null, [...ownProgram, 'serve', '--port', String(port)], env);
  await waitForResponse(`http://127.0.0.1:${port}/api/status`, (status) => status === 200);
  const front = freePort();
  const folder = join(home, `${name}-nginx`);
  writeFileSync(
    `${folder}.conf`,
    `daemon off; pid ${folder}.pid; error_log ${folder}.log;
events {}
http {
  access_log off; client_body_temp_path ${folder}-body; proxy_temp_path ${folder}-proxy;
  fastcgi_temp_path ${folder}-f; uwsgi_temp_path ${folder}-u; scgi_temp_path ${folder}-s;
  server { listen 127.0.0.1:${front}; location / { proxy_pass http://127.0.0.1:${port}; proxy_http_version 1.1; proxy_read_timeout ${limitSeconds}s; } }
}`,
  );
  start(null, ['nginx', '-c', `${folder}.conf`, '-e', `${folder}.log`]);
  await waitForResponse(`http://127.0.0.1:${front}/api/status`, (status) => status === 200);
  return { base: `http://127.0.0.1:${front}`, key };
}

const runners: Readonly<Record<string, readonly string[]>> = {
  mjs: ['node'],
  py: ['python3'],
  run: [],
};

async function program(file: string, base: string, key: string): Promise<string> {
  const runner = runners[file.split('.').at(-1) ?? ''] ?? [];
  const child = Bun.spawn([...runner, file], {
    cwd: dirname(file),
    env: { ...process.env, GATEWAY: base, GATEWAY_KEY: key },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const code = await child.exited;
  return code === 0 ? out.trim() : `FAILED: ${err.trim().split('\n').slice(-3).join(' / ')}`;
}

try {
  const [usual, without] = await Promise.all([
    installation('usual', []),
    installation('without', ['general_setting.keep_alive_seconds=0']),
  ]);
  const files =
    clients === undefined ? [] : readdirSync(clients).filter((name) => (name.split('.').at(-1) ?? '') in runners);
  const lines = await Promise.all([
    ...dialects('silent').map(async ([name, path, body]) => `${name}: ${await ask(usual.base, usual.key, path, body)}`),
    ask(without.base, without.key, '/v1/chat/completions', { model: 'silent', messages, stream: true }).then(
      (what) => `chat, without signs of life: ${what}`,
    ),
    ...files.map(async (name) => `${name}: ${await program(resolve(clients ?? '', name), usual.base, usual.key)}`),
  ]);
  console.log(lines.join('\n'));
} finally {
  await endAll();
  await upstream.stop(true);
  rmSync(home, { recursive: true, force: true });
}
process.exit(0);
