/** No body that passes the gate has another meaning for another parser. */
import { describe, expect, test } from 'vitest';
import { AppError } from '../../server/contract/errors.ts';
import { parse } from '../../server/relay/intake/parse.ts';
import type { ParsedRequest } from '../../server/relay/intake/parsed-request.ts';
import { relayRouteFor } from '../../server/relay/intake/routes.ts';
import { figure } from '../support/figure.ts';
import { clientForms, type FormBody, forms } from './parsers/forms.ts';
import { type JsonBody, jsonBodies } from './parsers/json-bodies.ts';
import { bytesOf, readers } from './parsers/readers.ts';
import { digest, type FormView, recorded } from './parsers/recorded.ts';

const recordings = recorded();
const context = { requestId: 'r', startedMs: 0, bodyLimit: 64 << 20 };

function routed(path: string) {
  const matched = relayRouteFor(path);
  if (matched === undefined) throw new Error(path);
  return matched;
}

/** @returns null when the gate refuses it, as it should: with 400 and words. */
async function gate(path: string, type: string, body: BodyInit): Promise<ParsedRequest | null> {
  const request = new Request(`http://x${path}`, { method: 'POST', body, headers: { 'content-type': type } });
  try {
    return await parse(request, routed(path), context);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(error.row.status, error.code).toBe(400);
    return null;
  }
}

/** In pieces of so many bytes. */
const chunks = (bytes: Uint8Array, size: number): ReadableStream<Uint8Array> => {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
  });
};

const edits = '/v1/images/edits';

async function passed(form: FormBody, parsed: ParsedRequest): Promise<Buffer> {
  const body = parsed.form?.body(null);
  if (body === undefined) throw new Error(form.name);
  return Buffer.from(await new Response(body).arrayBuffer());
}

const agrees = (view: FormView, parsed: ParsedRequest): boolean => {
  if ('error' in view) return true;
  const billed = { model: parsed.body.model, n: parsed.body.n };
  return (['model', 'n'] as const).every((name) =>
    billed[name] === undefined ? view[name].length === 0 : view[name].length === 1 && view[name][0] === billed[name],
  );
};

async function viewsOf(form: FormBody): Promise<Readonly<Record<string, FormView>>> {
  const own = await Promise.all(Object.entries(readers).map(async ([name, read]) => [name, await read(form)] as const));
  return { ...Object.fromEntries(own), ...recordings.forms[form.name] };
}

const small = (form: FormBody): boolean => form.body.length < 1 << 20;

describe('forms', () => {
  test('the recordings are of these bodies', () => expect(recordings.digest).toBe(digest()));

  test.each(forms.map((form) => [form.name, form] as const))('%s', async (_, form) => {
    const parsed = await gate(edits, form.type, bytesOf(form));
    if (small(form)) {
      for (const size of [1, 7]) {
        expect((await gate(edits, form.type, chunks(bytesOf(form), size))) === null, `pieces of ${size}`).toBe(
          parsed === null,
        );
      }
    }
    if (parsed === null) return;
    expect((await passed(form, parsed)).equals(bytesOf(form)), 'the bytes that go out').toBe(true);
    expect(parsed.model).toBe(parsed.body.model ?? 'gpt-image-1');
    const views = await viewsOf(form);
    const others = Object.entries(views).filter(([, view]) => !agrees(view, parsed));
    expect(Object.fromEntries(others), `billed: ${parsed.model} x ${String(parsed.body.n)}`).toEqual({});
  });

  test('there are enough of them, read by enough readers', async () => {
    const accepted: string[] = [];
    const ambiguous: string[] = [];
    let views = 0;
    for (const form of forms) {
      if ((await gate(edits, form.type, bytesOf(form))) !== null) accepted.push(form.name);
      const seen = Object.values(await viewsOf(form));
      views += seen.length;
      if (new Set(seen.map((view) => JSON.stringify('error' in view ? 'refused' : view))).size > 1)
        ambiguous.push(form.name);
    }
    figure(
      `${forms.length} forms: ${accepted.length} accepted, ${ambiguous.length} read differently by two of seven readers, ${views} readings`,
    );
    expect(forms.length).toBeGreaterThanOrEqual(60);
    expect(views).toBe(forms.length * 7);
    expect(ambiguous.length).toBeGreaterThan(40);
    expect(accepted).toContain('plain');
  });

  const written = [
    ...clientForms,
    ...recordings.clients.map(({ name, type, body }) => ({
      name,
      type,
      body: Buffer.from(body, 'base64').toString('latin1'),
    })),
  ];
  test.each(written.map((form) => [form.name, form] as const))('%s passes byte for byte', async (_, form) => {
    for (const path of [edits, '/v1/audio/transcriptions']) {
      const parsed = await gate(path, form.type, bytesOf(form));
      if (parsed === null) throw new Error('refused');
      expect(parsed.model).toBe('cheap');
      expect(parsed.form?.file?.length).toBeGreaterThan(3);
      expect((await passed(form, parsed)).equals(bytesOf(form))).toBe(true);
    }
  });
});

const chat = '/v1/chat/completions';
const members = ['model', 'n', 'max_tokens', 'size', 'quality', 'stream'] as const;
const absent = (value: unknown): boolean => value === undefined || value === null;

function agreesOn(view: Readonly<Record<string, unknown>>, { body }: ParsedRequest): boolean {
  if ('error' in view) return true;
  const config = body.generationConfig as Readonly<Record<string, unknown>> | undefined;
  const theirs = view.generationConfig as Readonly<Record<string, unknown>> | undefined;
  return (
    members.every((name) => (absent(body[name]) ? absent(view[name]) : view[name] === body[name])) &&
    (['maxOutputTokens', 'candidateCount'] as const).every((name) =>
      absent(config?.[name]) ? absent(theirs?.[name]) : theirs?.[name] === config?.[name],
    )
  );
}

describe('JSON', () => {
  const ask = ({ body }: JsonBody) => gate(chat, 'application/json', body);

  test.each(jsonBodies.map((item) => [item.name, item] as const))('%s', async (_, item) => {
    const parsed = await ask(item);
    if (parsed === null) return;
    // A byte order mark goes no further.
    expect(Buffer.from(parsed.json?.bytes ?? []).toString()).toBe(item.body.replace(/^\u{feff}/u, ''));
    const views = recordings.json[item.name] ?? {};
    expect(Object.keys(views).sort()).toEqual(['go', 'python']);
    const others = Object.entries(views).filter(([, view]) => !agreesOn(view, parsed));
    expect(Object.fromEntries(others)).toEqual({});
  });

  test('there are enough of them, and what is plain passes', async () => {
    const accepted: string[] = [];
    for (const item of jsonBodies) if ((await ask(item)) !== null) accepted.push(item.name);
    figure(`${jsonBodies.length} JSON bodies: ${accepted.length} accepted`);
    expect(jsonBodies.length).toBeGreaterThanOrEqual(40);
    expect(accepted).toEqual([
      'plain',
      'everything once',
      'model by an escape alone',
      'n null',
      'n 4.0',
      'n 4e0',
      'n -0',
      'max_tokens beyond 2^64',
      'byte order mark',
      'trailing blanks',
      // Taken out of the request before it goes upstream.
      'models to fall back to',
      'unknown members',
      'words that look like members',
    ]);
  });
});
