/** Services are made when they are first asked for. */
import { expect, test } from 'vitest';
import { lazily } from '../../server/app/lazily.ts';

const traced = () => {
  const made: string[] = [];
  const all = lazily<{ readonly price: { readonly of: number }; readonly bill: number; readonly mail: string }>({
    price: () => {
      made.push('price');
      return { of: 2 };
    },
    bill: ({ price }) => {
      made.push('bill');
      return price.of * 3;
    },
    mail: () => {
      made.push('mail');
      return 'sent';
    },
  });
  return { made, all };
};

test('a service is made with what it needs and nothing else, once', () => {
  const { made, all } = traced();
  expect(made).toEqual([]);
  expect(all.bill).toBe(6);
  expect(made).toEqual(['price', 'bill']);
  expect(all.price).toBe(all.price);
  expect(all.bill).toBe(6);
  expect(made).toEqual(['price', 'bill']);
});

test('a copy has all of them', () => {
  const { made, all } = traced();
  expect({ ...all }).toEqual({ price: { of: 2 }, bill: 6, mail: 'sent' });
  expect([...made].sort()).toEqual(['bill', 'mail', 'price']);
});

test('one that cannot be made is tried again', () => {
  let times = 0;
  const all = lazily<{ readonly once: string }>({
    once: () => {
      times++;
      if (times === 1) throw new Error('not yet');
      return 'made';
    },
  });
  expect(() => all.once).toThrow('not yet');
  expect(all.once).toBe('made');
});
