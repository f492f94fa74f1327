/** The providers whose row alone is not enough, by their slug. */
import type { Adapter } from './adapter.ts';
import { aiproxyLibrary } from './adapters/aiproxy-library.ts';
import { ali } from './adapters/ali.ts';
import { azure } from './adapters/azure.ts';
import { baidu } from './adapters/baidu.ts';
import { bedrock } from './adapters/bedrock.ts';
import { cohere } from './adapters/cohere.ts';
import { coze } from './adapters/coze.ts';
import { dify } from './adapters/dify.ts';
import { gemini } from './adapters/gemini.ts';
import { ollama } from './adapters/ollama.ts';
import { palm } from './adapters/palm.ts';
import { tencent } from './adapters/tencent.ts';
import { vertex } from './adapters/vertex.ts';
import { volcengine } from './adapters/volcengine.ts';
import { xunfei } from './adapters/xunfei.ts';
import { zhipu } from './adapters/zhipu.ts';

const adapters: Readonly<Record<string, Adapter>> = {
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

export const adapterOf = (slug: string): Adapter | null => adapters[slug] ?? null;
