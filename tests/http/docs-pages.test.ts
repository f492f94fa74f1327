/** The documentation that the executable serves: languages, addresses without `.html`, and a page for what is not there. */
import { expect, test } from 'vitest';
import { createConsoleAssets } from '../../server/http/console-assets.ts';

const file = (path: string) => ({ path, plain: import.meta.filename, brotli: null });
const assets = createConsoleAssets(() => ({ botCheck: false, payAddress: '' }), '', [
  file('/index.html'),
  file('/docs/en/index.html'),
  file('/docs/en/service.html'),
  file('/docs/en/missing.html'),
  file('/docs/en/search.json'),
  file('/docs/zh/index.html'),
  file('/docs/zh/missing.html'),
]);
const get = (path: string, language = ''): Response | null =>
  assets(new Request(`http://gateway${path}`, { headers: { 'accept-language': language } }), path);

test.each([
  ['zh-CN,zh;q=0.9,en;q=0.8', '/docs/zh'],
  ['de-DE', '/docs/en'],
  ['', '/docs/en'],
])('a reader of %s is led to %s', (language, to) => {
  const response = get('/docs', language);
  expect([response?.status, response?.headers.get('location')]).toEqual([302, to]);
});

test.each([
  ['/docs/en', 200, 'text/html; charset=utf-8'],
  ['/docs/en/', 200, 'text/html; charset=utf-8'],
  ['/docs/en/service', 200, 'text/html; charset=utf-8'],
  ['/docs/en/search.json', 200, 'application/json; charset=utf-8'],
  ['/docs/en/nothing', 404, 'text/html; charset=utf-8'],
  ['/docs/zh/service', 404, 'text/html; charset=utf-8'],
])('%s is answered with %i', (path, status, type) => {
  const response = get(path);
  expect([response?.status, response?.headers.get('content-type')]).toEqual([status, type]);
});

test('a path that leads out of the documentation leads to its beginning', () => {
  expect(get('/docs/en/../../secret')?.status).toBe(302);
  expect(get('/docs/fr/service')?.headers.get('location')).toBe('/docs/en');
});
