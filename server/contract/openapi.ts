/** The OpenAPI 3.1 document of the HTTP API, made from the endpoint table. */
import * as z from 'zod/mini';
import type { Endpoint } from './endpoint.ts';
import { endpoints } from './endpoints/index.ts';
import type { Language } from './enums.ts';

type Schema = Readonly<Record<string, unknown>> & {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
};

/** Fields that are cleaned before they are checked are shown without a type. */
const schemaOf = (shape: z.ZodMiniType, io: 'input' | 'output'): Schema => {
  const { $schema: _version, ...schema } = z.toJSONSchema(shape, {
    io,
    unrepresentable: 'any',
    reused: 'inline',
  }) as Schema;
  return schema;
};

const inQuery = (row: Endpoint): boolean => row.method === 'GET' || row.method === 'DELETE';
const pathFields = (row: Endpoint): string[] => [...row.path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '');

function operation(row: Endpoint, language: Language) {
  const input = schemaOf(row.input, 'input');
  const inPath = pathFields(row);
  const fields = Object.entries(input.properties ?? {});
  const rest = fields.filter(([name]) => !inPath.includes(name));
  const required = input.required ?? [];
  const parameter = (name: string, place: 'path' | 'query', schema: unknown) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema,
  });
  const data = schemaOf(row.output, 'output');
  const answer =
    (row.envelope ?? 'data') === 'data'
      ? {
          type: 'object',
          properties: { success: { type: 'boolean' }, message: { type: 'string' }, code: { type: 'string' }, data },
          required: ['success', 'message'],
        }
      : data;
  return {
    operationId: row.id,
    tags: [row.id.split('.')[0] ?? ''],
    summary: row.summary[language],
    'x-access': row.access,
    security:
      row.access === 'public'
        ? []
        : [
            { session: [], user: [] },
            { access_token: [], user: [] },
          ],
    parameters: [
      ...inPath.map((name) => parameter(name, 'path', input.properties?.[name] ?? {})),
      ...(inQuery(row) ? rest.map(([name, schema]) => parameter(name, 'query', schema)) : []),
    ],
    ...(inQuery(row) || rest.length === 0
      ? {}
      : {
          requestBody: {
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  properties: Object.fromEntries(rest),
                  required: required.filter((name) => !inPath.includes(name)),
                },
              },
            },
          },
        }),
    responses: {
      200: { description: 'success: false tells a failure', content: { 'application/json': { schema: answer } } },
    },
  };
}

/** Calls that only the owner of the data directory may make are not part of it. */
export function openApi(version: string, language: Language) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const row of endpoints as readonly Endpoint[]) {
    if (row.access === 'local') continue;
    const path = row.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [row.method.toLowerCase()]: operation(row, language) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'gateway', version },
    components: {
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: 'session' },
        access_token: { type: 'http', scheme: 'bearer' },
        user: { type: 'apiKey', in: 'header', name: 'New-Api-User' },
      },
    },
    paths,
  };
}
