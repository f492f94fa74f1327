import { expect, test } from 'vitest';
import { pageAt } from '../../web/app/pages.tsx';

test.each([
  ['/', '/'],
  ['/user', '/user'],
  ['/user/', '/user'],
  ['/user/edit/7', '/user'],
  ['/user/7', '/user/:id'],
  ['/pricing/gpt-4o', '/pricing'],
  ['/chat', '/chat/:id?'],
  ['/chat/2', '/chat/:id?'],
  ['/oauth/github', '/oauth/:type'],
  ['/nowhere', undefined],
])('the page of %s is that of %s', (address, path) => {
  expect(pageAt(address, true)?.path).toBe(path);
});

test('a reader who is not logged in gets the login where a page needs one', () => {
  expect([pageAt('/token', false)?.path, pageAt('/pricing', false)?.path, pageAt('/nowhere', false)]).toEqual([
    '/login',
    '/pricing',
    undefined,
  ]);
});
