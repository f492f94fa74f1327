/** The HTTP API on a loopback port over a test gateway, with callers of every role. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { type AppOptions, createApp } from '../../server/http/app.ts';
import { createTestGateway, type TestGatewayOptions } from './gateway.ts';

export type Headers = Record<string, string>;

export interface Answer {
  readonly status: number;
  /** {} when the answer is no JSON. */
  readonly body: { success?: boolean; message?: string; code?: string; data?: unknown };
  readonly headers: globalThis.Headers;
}

export async function createApiFixture(
  options: Partial<Pick<AppOptions, 'listener' | 'changed' | 'report' | 'onSignIn'>> = {},
  gatewayOptions: TestGatewayOptions = {},
) {
  const gateway = await createTestGateway(gatewayOptions);
  const server = createServer(
    createApp({
      services: gateway.services,
      listener: 'network',
      requestId: () => 'req',
      report: () => undefined,
      ...options,
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const send = async (method: string, path: string, body?: unknown, headers: Headers = {}): Promise<Answer> => {
    const response = await fetch(base + path, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const content = await response.text();
    const isJson = (response.headers.get('content-type') ?? '').startsWith('application/json');
    return {
      status: response.status,
      body: isJson ? (JSON.parse(content) as Answer['body']) : {},
      headers: response.headers,
    };
  };

  const login = async (username: string, password: string): Promise<Headers> => {
    const { body, headers } = await send('POST', '/api/user/login', { username, password });
    expect(body.success).toBe(true);
    return {
      cookie: headers.get('set-cookie')?.split(';')[0] ?? '',
      'new-api-user': String((body.data as { id: number }).id),
      'sec-fetch-site': 'same-origin',
    };
  };

  return {
    gateway,
    base,
    send,
    login,
    async addUser(username: string, role: number) {
      const password = 'password1';
      const id = await gateway.services.users.create({ username, password, displayName: '', role, quota: 0 });
      return { id, headers: await login(username, password) };
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await gateway.close();
    },
  };
}

export type ApiFixture = Awaited<ReturnType<typeof createApiFixture>>;
