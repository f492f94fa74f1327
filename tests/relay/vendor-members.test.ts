/** Every list, number and choice of words that a vendor's request may have says whether it multiplies the work. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Multiplier, multipliers } from '../../server/routing/multipliers.ts';
import { multiplying, shownElsewhere } from '../support/multiplying.ts';
import { membersOf } from '../support/sdk-members.ts';
import { type VendorRows, vendorRows } from '../support/vendor-rows.ts';

const namesIn = (list: string): string[] => list.split(/\s+/).filter(Boolean);

const rowsOf = ({ multiplies, lowers, neither }: VendorRows): string[] => [
  ...namesIn(multiplies),
  ...[...Object.values(lowers), ...Object.values(neither)].flatMap(namesIn),
];

function plainPath(path: string, { same = [] }: VendorRows): string {
  let plain = path;
  for (;;) {
    const next = same.reduce((one, [place, there]) => one.replace(place, there), plain);
    if (next === plain) return plain;
    plain = next;
  }
}

test.each(vendorRows)('each member of $name has its row, and each row its member', (rows) => {
  const known = rowsOf(rows);
  const members = new Set<string>();
  for (const [file, ...names] of rows.types)
    for (const name of names) for (const path of membersOf(file, name)) members.add(plainPath(path, rows));
  expect({
    withoutRow: [...members].filter((path) => !known.includes(path)).sort(),
    withoutMember: known.filter((path) => !members.has(path)),
    twice: known.filter((path, at) => known.indexOf(path) !== at),
  }).toEqual({ withoutRow: [], withoutMember: [], twice: [] });
});

test('each member that multiplies is shown to be held for', () => {
  const shown = [...multiplying.map(({ vendor, member }) => `${vendor} ${member}`), ...Object.keys(shownElsewhere)];
  const rows = vendorRows.flatMap(({ name, multiplies }) => namesIn(multiplies).map((member) => `${name} ${member}`));
  expect(shown.toSorted()).toEqual(rows.toSorted());
});

test('a list, a number or a choice of words that an update brings is found wherever it stands', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sdk-'));
  const read = (version: string, more: string) => {
    const file = join(folder, `${version}.d.ts`);
    writeFileSync(join(folder, 'shared.d.ts'), 'export interface Part { text: string; weight?: number }\n');
    writeFileSync(
      file,
      `import * as Shared from './shared';
       export type Params = Streamed | Whole;
       interface Base<Format extends 'a' | 'b' = 'a' | 'b'> { format?: Format; content: string | ReadonlyArray<Shared.Part> }
       interface Whole extends Base { stream?: false }
       interface Streamed extends Base { stream: true; tools?: (Params.Tool | Params.Other)[] | null }
       export declare namespace Params {
         interface Tool { type: 'one'; names: string; tools?: Tool[]; limits: { [name: string]: { most: bigint } } ${more} }
         interface Other { type: 'two' }
       }`,
    );
    return [...membersOf(file, 'Params')];
  };
  try {
    const before = ['content', 'content[].weight', 'tools', 'tools[].tools', 'format', 'tools[].type'];
    expect(read('1', '').toSorted()).toEqual(before.toSorted());
    const after = read('2', "; rounds?: number | null; at: { level: 'low' | 'high'; places: [string, number] }");
    const brought = after.filter((path) => !before.includes(path));
    expect(brought.toSorted()).toEqual([
      'tools[].at.level',
      'tools[].at.places',
      'tools[].at.places[]',
      'tools[].rounds',
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** Other hosts have no types among the packages: these are the names that they have for the same. */
const ofOtherHosts = ['requests', 'texts', 'passages', 'sources', 'records', 'input.documents'];

test('each row of the product’s table is a member that multiplies in a vendor’s type, or another host’s', () => {
  const rows = new Set(vendorRows.flatMap(({ multiplies }) => namesIn(multiplies)));
  const plain = ({ path }: Multiplier): string => path.replace('generationConfig.', 'config.');
  const others = multipliers.filter((row) => !rows.has(plain(row))).map(({ path }) => path);
  expect(others).toEqual(ofOtherHosts);
});
