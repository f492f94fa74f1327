import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Endpoint } from '../../server/contract/endpoint.ts';
import { endpoints } from '../../server/contract/endpoints/index.ts';
import { type ApiFixture, createApiFixture } from '../support/api.ts';

let api: ApiFixture;
beforeEach(async () => {
  api = await createApiFixture();
});
afterEach(() => api.close());

interface Document {
  readonly openapi: string;
  readonly paths: Record<
    string,
    Record<string, { operationId: string; summary: string; parameters: { name: string; in: string }[] }>
  >;
}

test('every call that goes over the network is in the document, once', async () => {
  const { body } = await api.send('GET', '/api/openapi.json', undefined, { 'accept-language': 'en' });
  const document = body as unknown as Document;
  expect(document.openapi).toBe('3.1.0');
  const told = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => `${operationId} ${method.toUpperCase()} ${path}`),
  );
  const rows = (endpoints as readonly Endpoint[])
    .filter(({ access }) => access !== 'local')
    .map(({ id, method, path }) => `${id} ${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
  expect(told.sort()).toEqual(rows.sort());
  const get = document.paths['/api/token/{id}']?.get;
  expect(get).toMatchObject({ summary: 'One token', parameters: [{ name: 'id', in: 'path' }] });
  const chinese = await api.send('GET', '/api/openapi.json', undefined, { 'accept-language': 'zh' });
  expect((chinese.body as unknown as Document).paths['/api/token/{id}']?.get?.summary).toBe('令牌详情');
});
