/** The providers whose row alone is not enough, by their slug. */
import type { Quirk } from './quirk.ts';
import { aiproxyLibrary } from './quirks/aiproxy-library.ts';
import { ali } from './quirks/ali.ts';
import { azure } from './quirks/azure.ts';
import { baidu } from './quirks/baidu.ts';
import { bedrock } from './quirks/bedrock.ts';
import { cohere } from './quirks/cohere.ts';
import { coze } from './quirks/coze.ts';
import { dify } from './quirks/dify.ts';
import { gemini } from './quirks/gemini.ts';
import { ollama } from './quirks/ollama.ts';
import { palm } from './quirks/palm.ts';
import { tencent } from './quirks/tencent.ts';
import { vertex } from './quirks/vertex.ts';
import { volcengine } from './quirks/volcengine.ts';
import { xunfei } from './quirks/xunfei.ts';
import { zhipu } from './quirks/zhipu.ts';

const quirks: Readonly<Record<string, Quirk>> = {
  azure,
  aws: bedrock,
  vertex,
  volcengine,
  zhipu,
  'zhipu-v4': zhipu,
  xunfei,
  baidu,
  tencent,
  dify,
  coze,
  ollama,
  gemini,
  palm,
  'aiproxy-library': aiproxyLibrary,
  ali,
  cohere,
};

export const quirkOf = (slug: string): Quirk | null => quirks[slug] ?? null;
