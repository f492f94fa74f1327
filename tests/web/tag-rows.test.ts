import { expect, test } from 'vitest';
import type { Channel } from '../../server/contract/entities.ts';
import { tagRows } from '../../web/features/channels/tag-rows.ts';

const channel = (fields: Partial<Channel>): Channel =>
  ({
    tag: 'a',
    status: 1,
    used_quota: 0,
    priority: 0,
    weight: 0,
    group: 'default',
    response_time: 0,
    ...fields,
  }) as Channel;

test('a tag has the groups of its channels, the sum they used and the mean of their times', () => {
  const [row] = tagRows([
    channel({ group: 'default,vip', used_quota: 3, response_time: 100 }),
    channel({ group: 'vip', used_quota: 4, response_time: 300 }),
  ]);
  expect(row).toMatchObject({ tag: 'a', groups: ['default', 'vip'], used: 7, response: 200 });
});

test('priority and weight are shown where all channels agree', () => {
  const [same] = tagRows([channel({ priority: 2, weight: 1 }), channel({ priority: 2, weight: 1 })]);
  expect(same).toMatchObject({ priority: 2, weight: 1 });
  const [differ] = tagRows([channel({ priority: 2, weight: 1 }), channel({ priority: 3, weight: 2 })]);
  expect(differ).toMatchObject({ priority: null, weight: null });
});

test('a tag is in use while any of its channels is', () => {
  expect(tagRows([channel({ status: 2 }), channel({ status: 1 })])[0]?.enabled).toBe(1);
  expect(tagRows([channel({ status: 2 }), channel({ status: 3 })])[0]?.enabled).toBe(0);
});
