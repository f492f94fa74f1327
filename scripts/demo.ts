/** The whole product in one go on a throw-away data directory: practice upstream, channel, token, one streamed answer, its bill. Then leaves the gateway open. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { buildConsole } from './console.ts';
import { gatewayIn } from './run-gateway.ts';

await buildConsole(resolve(import.meta.dirname, '..'));
const dir = mkdtempSync(join(tmpdir(), 'gateway-demo-'));
const dataDir = join(dir, 'data');
const portFlag = process.argv.indexOf('--port');
const port = portFlag < 0 ? 3000 : Number(process.argv[portFlag + 1]);

const { start, run } = gatewayIn(dataDir);
const firstLine = async (child: ReturnType<typeof start>): Promise<string> => {
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  reader.releaseLock();
  const line = new TextDecoder().decode(value).split('\n')[0] ?? '';
  if (line === '') throw new Error('nothing started; is the port free? Try: npm run demo -- --port 4000');
  return line;
};

const children: ReturnType<typeof start>[] = [];
const stop = () => {
  for (const child of children) child.kill('SIGTERM');
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);

try {
  const upstream = start(['mock-upstream', '--port', '0', '--tokens-per-second', '20', '--chunks', '12']);
  children.push(upstream);
  const upstreamUrl = await firstLine(upstream);
  await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], 'demo-password');
  await run(
    ['channel', 'add', '--type', 'practice', '--name', 'practice', '--base-url', upstreamUrl, '--key-stdin'],
    'none',
  );
  const key = await run(['token', 'create', '--name', 'demo', '--quota', 'unlimited', '-q']);
  const gateway = start(['serve', '--port', String(port)]);
  children.push(gateway);
  const url = (await firstLine(gateway)).replace(/^[^:]+: /, '');

  console.log('The answer, streamed:\n');
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'practice-small',
      stream: true,
      messages: [{ role: 'user', content: 'Say something.' }],
    }),
  });
  const decoder = new TextDecoder();
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    for (const [, text] of decoder.decode(bytes).matchAll(/"content":"([^"]*)"/g)) process.stdout.write(text ?? '');
  }
  console.log('\n\nIts bill:\n');
  console.log(await run(['logs', 'explain', response.headers.get('x-oneapi-request-id') ?? '']));
  console.log(`\nConsole: ${url}   username root, password demo-password`);
  console.log(`API:     ${url}/v1   key ${key}`);
  console.log('Ctrl-C to stop; nothing is kept.');
  await gateway.exited;
} finally {
  stop();
  await Promise.all(children.map((child) => child.exited));
  rmSync(dir, { recursive: true, force: true });
}
