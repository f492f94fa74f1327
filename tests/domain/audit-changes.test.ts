/** What a change did, before and after, and what of it can be put back. */
import { describe, expect, test } from 'vitest';
import {
  type AuditedThing,
  changesBetween,
  changesIn,
  changesText,
  isUndoable,
  undone,
} from '../../server/domain/audit/changes.ts';

const channel = (fields: Record<string, string | null>): AuditedThing => ({
  ...{ kind: 'channel', id: '7', fields, secret: ['key'] },
});
const option = (id: string, value: string | null): AuditedThing => ({ kind: 'option', id, fields: { value } });
const between = (before: AuditedThing, after: AuditedThing) => changesBetween([before], [after]).changes;

describe('a field', () => {
  test('that stays the same is no change', () =>
    expect(between(channel({ name: 'a', weight: '1' }), channel({ name: 'a', weight: '1' }))).toEqual([]));

  test('is kept before and after', () =>
    expect(between(channel({ name: 'a' }), channel({ name: 'b' }))).toEqual([
      { kind: 'channel', id: '7', field: 'name', member: null, before: 'a', after: 'b', hidden: false },
    ]));

  test('that nothing was stored in has nothing before', () =>
    expect(between(option('RetryTimes', null), option('RetryTimes', '3'))).toMatchObject([
      { before: null, after: '3' },
    ]));

  test('that is a secret says only that it changed', () => {
    const changes = between(channel({ key: 'sk-old' }), channel({ key: 'sk-new' }));
    expect(changes).toMatchObject([{ field: 'key', before: null, after: null, hidden: true }]);
    expect(changesText(changesBetween([channel({ key: 'sk-old' })], [channel({ key: 'sk-new' })]))).not.toMatch(/sk-/);
  });

  test('of a thing that is gone has nothing after', () =>
    expect(changesBetween([channel({ name: 'a' })], []).changes).toMatchObject([{ before: 'a', after: null }]));
});

describe('a map', () => {
  test('is compared by its members: one more, one less, another value, another order', () => {
    const [before, after] = ['{"a":1,"b":2,"c":3}', '{"c":3,"b":5,"d":{"x":[1]}}'];
    expect(between(option('ModelRatio', before), option('ModelRatio', after))).toMatchObject([
      { member: 'a', before: '1', after: null },
      { member: 'b', before: '2', after: '5' },
      { member: 'd', before: null, after: '{"x":[1]}' },
    ]);
    expect(between(option('ModelRatio', '{"a":1,"b":2}'), option('ModelRatio', '{"b":2, "a":1}'))).toEqual([]);
  });

  test('that begins or ends with nothing stored is compared by members, too', () => {
    expect(between(option('ModelRatio', null), option('ModelRatio', '{"a":1}'))).toMatchObject([
      { member: 'a', before: null, after: '1' },
    ]);
    expect(between(channel({ model_mapping: '{"a":"b"}' }), channel({ model_mapping: '' }))).toMatchObject([
      { member: 'a', before: '"b"', after: null },
    ]);
  });

  test('of a channel keeps no value of a member that may hold a secret', () => {
    const settings = (password: string) =>
      `{"proxy":"http://u:${password}@p","api_key":"${password}","force_format":true}`;
    const changes = between(channel({ setting: settings('one') }), channel({ setting: settings('two') }));
    expect(changes.map(({ member, hidden }) => [member, hidden])).toEqual([
      ['proxy', true],
      ['api_key', true],
    ]);
    expect(JSON.stringify(changes)).not.toMatch(/one|two/);
  });

  test.each(['[1]', '"x"', '{broken', '12'])('%s is none: it is compared whole', (text) =>
    expect(between(option('Chats', '{"a":1}'), option('Chats', text))).toMatchObject([
      { member: null, before: '{"a":1}', after: text },
    ]),
  );
});

describe('what is kept is bounded', () => {
  test('in number', () => {
    const map = JSON.stringify(Object.fromEntries(Array.from({ length: 1500 }, (_, n) => [`m${n}`, n])));
    const found = changesBetween([option('ModelRatio', '{}')], [option('ModelRatio', map)]);
    expect([found.changes.length, found.left]).toEqual([1000, 500]);
    expect(isUndoable(found)).toBe(false);
  });

  test('in size', () => {
    const found = changesBetween([channel({ models: 'a' })], [channel({ models: 'm,'.repeat(20_000) })]);
    expect([found.changes[0]?.after?.length, found.left]).toEqual([20_000, 1]);
    expect(isUndoable(found)).toBe(false);
  });
});

test('rows without changes are empty, others come back as they were', () => {
  expect(changesText(changesBetween([channel({ name: 'a' })], [channel({ name: 'a' })]))).toBe('');
  expect(changesIn('')).toEqual({ changes: [], left: 0 });
  const found = changesBetween([channel({ name: 'a' })], [channel({ name: 'b' })]);
  expect(changesIn(changesText(found))).toEqual(found);
});

describe('undo is for', () => {
  const of = (before: AuditedThing, after: AuditedThing) => isUndoable(changesBetween([before], [after]));
  const user = (role: string): AuditedThing => ({ kind: 'user', id: '1', fields: { role } });
  test('options', () => expect(of(option('RetryTimes', null), option('RetryTimes', '1'))).toBe(true));
  test('channels', () => expect(of(channel({ name: 'a' }), channel({ name: 'b' }))).toBe(true));
  test('no people', () => expect(of(user('1'), user('10'))).toBe(false));
  test('no secrets, whatever else changed with them', () =>
    expect(of(channel({ name: 'a', key: 'x' }), channel({ name: 'b', key: 'y' }))).toBe(false));
  test('something', () => expect(of(channel({}), channel({}))).toBe(false));
});

describe('put back', () => {
  const change = (member: string | null, before: string | null, after: string | null) => ({
    ...{ kind: 'option' as const, id: 'x', field: 'value', member, before, after, hidden: false },
  });

  test('is a field that stands as the change left it', () =>
    expect(undone('b', [change(null, 'a', 'b')])).toEqual({ text: 'a' }));
  test('is a field back to nothing', () => expect(undone('b', [change(null, null, 'b')])).toEqual({ text: null }));
  test('is no field that was changed since', () =>
    expect(undone('c', [change(null, 'a', 'b')])).toEqual({ changedSince: '' }));

  test('are the members of a change, whatever was added beside them since', () =>
    expect(
      undone('{"a":2,"new":1,"kept":3,"later":9}', [
        change('a', '1', '2'),
        change('new', null, '1'),
        change('gone', '7', null),
      ]),
    ).toEqual({ text: '{"a":1,"kept":3,"later":9,"gone":7}' }));
  test.each([
    ['{"a":3}', 'a'],
    ['{}', 'a'],
    [null, 'a'],
  ])('is no member of %s that was changed since', (now, member) =>
    expect(undone(now, [change('a', '1', '2')])).toEqual({ changedSince: member }),
  );
  test('is no member that is there again', () =>
    expect(undone('{"gone":8}', [change('gone', '7', null)])).toEqual({ changedSince: 'gone' }));
  test('is nothing of what is no map any more', () =>
    expect(undone('text', [change('a', '1', '2')])).toEqual({ changedSince: '' }));
});
