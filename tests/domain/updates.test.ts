import { expect, test } from 'vitest';
import { checkForUpdate, isNewer } from '../../server/domain/status/updates.ts';

test.each([
  ['v0.2.0', '0.1.9', true],
  ['0.1.9', 'v0.1.9', false],
  ['v0.1.10', 'v0.1.9', true],
  ['v1', 'v0.9.9', true],
  ['v0.9', 'v0.9.1', false],
])('%s after %s: %s', (other, current, expected) => expect(isNewer(other, current)).toBe(expected));

const answering =
  (body: unknown, status = 200) =>
  async () =>
    Response.json(body, { status });

test('a newer release comes with its notes', async () => {
  const release = { tag_name: 'v9.0.0', body: '# Nine' };
  expect(await checkForUpdate('https://releases.example/latest', 'v0.1.0', answering(release))).toEqual({
    current: 'v0.1.0',
    latest: 'v9.0.0',
    newer: true,
    notes: '# Nine',
  });
});

test.each([
  ['an error', answering({ message: 'gone' }, 404)],
  ['an error in the form of a release', answering({ tag_name: 'v9.0.0', body: '' }, 500)],
  ['no release', answering({})],
  ['not JSON', async () => new Response('<html>')],
  ['silence', () => Promise.reject(new Error('connect ETIMEDOUT'))],
])('%s is reported as unreachable', async (_name, fetchRelease) => {
  await expect(checkForUpdate('https://releases.example', 'v0.1.0', fetchRelease)).rejects.toMatchObject({
    code: 'update_unreachable',
  });
});

test('without an address no server is asked', async () => {
  let requested = 0;
  const counting = async () => {
    requested += 1;
    return Response.json({});
  };
  await expect(checkForUpdate('', 'v0.1.0', counting)).rejects.toMatchObject({ code: 'update_unset' });
  expect(requested).toBe(0);
});
