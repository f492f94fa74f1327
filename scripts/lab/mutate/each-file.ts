/** Runs before each test file of a round: switches its change on, and lets the rest of the file be once a test failed. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { type Switch, switchPath } from './switch.ts';

const root = resolve(import.meta.dirname, '..', '..', '..');
const order = JSON.parse(readFileSync(process.env.GATEWAY_ROUND ?? join(root, 'round.json'), 'utf8')) as {
  readonly reached: string | null;
  readonly on: Readonly<Record<string, number>>;
};
const test = relative(root, expect.getState().testPath ?? '');
const state: Switch = { on: order.on[test] ?? -1, test, reached: order.reached, loading: true, seen: new Set() };
globalThis.gatewaySwitch = state;
writeFileSync(switchPath(root, process.pid), JSON.stringify({ ...state, since: Date.now() }));

let failed = false;
beforeAll(() => {
  state.loading = false;
});
beforeEach(({ skip }) => {
  if (failed && state.on >= 0) skip();
});
afterEach(({ task }) => {
  failed ||= task.result?.state === 'fail';
});
