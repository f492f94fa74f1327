/** Sends the request of a case to one side and reads what comes back. */
import type { ClientRequest } from './case.ts';
import type { ClientView } from './compare.ts';

const timeoutMs = 30_000;

export async function play(url: string, { method, path, headers, body }: ClientRequest): Promise<ClientView> {
  const signal = AbortSignal.timeout(timeoutMs);
  const chunks: Uint8Array[] = [];
  const read = () => {
    const bytes = Buffer.concat(chunks);
    const text = bytes.toString('utf8');
    return Buffer.from(text).equals(bytes) ? text : bytes.toString('latin1');
  };
  try {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { 'accept-encoding': 'identity', 'user-agent': 'differ', ...headers },
      body: typeof body === 'string' || body === null ? body : new Blob([new Uint8Array(body)]),
      decompress: false,
      redirect: 'manual',
      signal,
    });
    const requestId = response.headers.get('x-oneapi-request-id');
    const seen = { status: response.status, headers: [...response.headers.entries()].sort(), requestId };
    try {
      if (response.body !== null)
        for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) chunks.push(chunk);
      return { ...seen, body: read(), failure: '' };
    } catch (error) {
      return { ...seen, body: read(), failure: signal.aborted ? 'timed out' : `broken: ${codeOf(error)}` };
    }
  } catch (error) {
    return {
      status: 0,
      headers: [],
      body: '',
      failure: signal.aborted ? 'timed out' : `failed: ${codeOf(error)}`,
      requestId: null,
    };
  }
}

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? error);
