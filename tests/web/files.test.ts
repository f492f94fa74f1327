// @vitest-environment happy-dom
/** Files of the playground: what of them a message carries, and as what. */
import { expect, test } from 'vitest';
import { attachmentsOf } from '../../web/features/playground/files.ts';

const file = (name: string, type: string, content: string | Uint8Array<ArrayBuffer> = 'x') =>
  new File([content], name, { type });
const kinds = async (...files: readonly File[]) => (await attachmentsOf(files)).map(({ kind }) => kind);

test.each([
  ['notes.bin', 'text/plain', 'text'],
  ['main.py', 'application/octet-stream', 'text'],
  ['data', 'application/json', 'text'],
  ['photo.txt', 'image/png', 'image'],
  ['paper.pdf', 'application/pdf', 'file'],
])('%s of type %s is sent as %s', async (name, type, kind) => {
  expect(await kinds(file(name, type))).toEqual([kind]);
});

test('a text is sent as it stands, anything else as an address of its bytes', async () => {
  expect(await attachmentsOf([file('a.md', '', '# Hi')])).toEqual([{ name: 'a.md', kind: 'text', data: '# Hi' }]);
  const [found] = await attachmentsOf([file('a.pdf', 'application/pdf', 'PDF')]);
  expect(found?.data).toBe(`data:application/pdf;base64,${btoa('PDF')}`);
});

test('a file of more than 20 MiB stays behind, and the others go', async () => {
  const most = 20 * 1024 * 1024;
  const large = (bytes: number) => file(`${bytes}.png`, 'image/png', new Uint8Array(bytes));
  expect((await attachmentsOf([large(most + 1), large(most)])).map(({ name }) => name)).toEqual([`${most}.png`]);
});
