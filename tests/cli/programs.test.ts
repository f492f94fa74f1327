/** Programs that are signed in as a user, from the command line: listed of oneself and of others, and signed out. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiFixture, createApiFixture } from '../support/api.ts';
import { createRunner, type Runner } from './runner.ts';

let dir: string;
let api: ApiFixture;
let asRoot: Runner;
let asAnn: Runner;
let ids: Record<string, number>;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gateway-cli-'));
  api = await createApiFixture();
  await api.gateway.option('agents.sign_in', 'true');
  const { signIns } = api.gateway.services;
  ids = {};
  const runnerOf = async (username: string, role: number, host: string) => {
    const { id, headers } = await api.addUser(username, role);
    const { data: token } = (await api.send('GET', '/api/user/token', undefined, headers)).body as { data: string };
    const begun = await signIns.begin('gateway', host, '192.0.2.7');
    if (typeof begun === 'string') throw new Error(begun);
    await signIns.decide({ id, username }, '192.0.2.7', begun.userCode, true);
    await signIns.redeem(begun.deviceCode, 'gateway', '192.0.2.7');
    ids[username] = (await signIns.list(id))[0]?.id ?? 0;
    return createRunner(dir, { GATEWAY_TOKEN: token, GATEWAY_USER: String(id) }, ['--url', api.base]);
  };
  asRoot = await runnerOf('root', 100, 'desk');
  asAnn = await runnerOf('ann', 1, 'laptop');
});
afterAll(async () => {
  await api.close();
  rmSync(dir, { recursive: true, force: true });
});

const hosts = async (runner: Runner, ...user: string[]) =>
  (await runner.json<{ host: string }[]>(['program', 'list', ...user])).map(({ host }) => host);

test('each user lists own programs, administrators those of others too', async () => {
  expect([await hosts(asRoot), await hosts(asRoot, 'ann'), await hosts(asAnn)]).toEqual([
    ['desk'],
    ['laptop'],
    ['laptop'],
  ]);
  await expect(hosts(asAnn, 'root')).rejects.toThrow();
});

test('a program is signed out by its id, and nobody signs out those of an administrator', async () => {
  await expect(asAnn.run(['program', 'rm', String(ids.root), '--yes'])).rejects.toMatchObject({ code: 'not_found' });
  await expect(asRoot.run(['program', 'rm', 'laptop', '--yes'])).rejects.toMatchObject({ code: 'usage' });
  expect(await asRoot.run(['program', 'rm', String(ids.ann), '--dry-run'])).toContain('dry run');
  expect(await hosts(asAnn)).toEqual(['laptop']);
  expect(await asRoot.run(['program', 'rm', String(ids.ann), '--yes'])).toContain('deleted');
  expect([await hosts(asAnn), await hosts(asRoot)]).toEqual([[], ['desk']]);
});
