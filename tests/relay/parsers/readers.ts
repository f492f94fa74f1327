/** The form readers of this language: what an upstream written with each of them finds in a body. */
import { Readable } from 'node:stream';
import busboy from 'busboy';
import type { Request as ExpressRequest, Response as ExpressResponse } from 'express';
import multer from 'multer';
import { Request as UndiciRequest } from 'undici/index.js';
import type { FormBody } from './forms.ts';
import type { FormView } from './recorded.ts';

export const bytesOf = ({ body }: Pick<FormBody, 'body'>): Buffer<ArrayBuffer> => Buffer.from(body, 'latin1');

const file = '(file)';
const viewOf = (pairs: readonly (readonly [string, string])[]): FormView => ({
  model: pairs.filter(([name]) => name === 'model').map(([, value]) => value),
  n: pairs.filter(([name]) => name === 'n').map(([, value]) => value),
});

function byBusboy(form: FormBody): Promise<FormView> {
  const { promise, resolve, reject } = Promise.withResolvers<FormView>();
  const pairs: [string, string][] = [];
  const reader = busboy({ headers: { 'content-type': form.type } });
  reader.on('field', (name, value) => pairs.push([name, value]));
  reader.on('file', (name, stream) => {
    pairs.push([name, file]);
    stream.on('error', reject).resume();
  });
  reader.on('close', () => resolve(viewOf(pairs)));
  reader.on('error', reject);
  Readable.from([bytesOf(form)]).pipe(reader);
  return promise;
}

function byMulter(form: FormBody): Promise<FormView> {
  const { promise, resolve, reject } = Promise.withResolvers<FormView>();
  const body = bytesOf(form);
  const request = Object.assign(Readable.from([body]), {
    headers: { 'content-type': form.type, 'content-length': String(body.length) },
  }) as unknown as ExpressRequest;
  multer().any()(request, {} as ExpressResponse, (error: unknown) => {
    if (error !== undefined && error !== null) return reject(error);
    const fields = (request.body ?? {}) as Record<string, unknown>;
    const files = (request.files ?? []) as readonly { readonly fieldname: string }[];
    const pairs = [
      ...Object.entries(fields).flatMap(([name, value]) =>
        [value].flat().map((item): [string, string] => [name, typeof item === 'string' ? item : JSON.stringify(item)]),
      ),
      ...files.map(({ fieldname }): [string, string] => [fieldname, file]),
    ];
    resolve(viewOf(pairs));
  });
  return promise;
}

type Entries = Iterable<[string, unknown]>;
const ofEntries = (entries: Entries): FormView =>
  viewOf([...entries].map(([name, value]): [string, string] => [name, typeof value === 'string' ? value : file]));

async function byBun(form: FormBody): Promise<FormView> {
  const request = new Request('http://x', {
    method: 'POST',
    body: bytesOf(form),
    headers: { 'content-type': form.type },
  });
  return ofEntries((await request.formData()) as unknown as Entries);
}

async function byUndici(form: FormBody): Promise<FormView> {
  const request = new UndiciRequest('http://x', {
    method: 'POST',
    body: bytesOf(form),
    headers: { 'content-type': form.type },
  });
  return ofEntries((await request.formData()) as unknown as Entries);
}

const refusing =
  (read: (form: FormBody) => Promise<FormView>) =>
  async (form: FormBody): Promise<FormView> => {
    try {
      return await read(form);
    } catch (error) {
      return { error: String(error) };
    }
  };

export const readers = {
  busboy: refusing(byBusboy),
  multer: refusing(byMulter),
  Bun: refusing(byBun),
  undici: refusing(byUndici),
};
