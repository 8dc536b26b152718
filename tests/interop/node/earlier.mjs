// @modelcontextprotocol/sdk, which speaks the version before events: it connects, and the tools work.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { z } from 'zod';
import { say } from './said.mjs';

const [url, scope] = process.argv.slice(2);
const client = new Client({ name: 'interop', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
say('server', client.getServerVersion().name);
try {
  await client.request({ method: 'events/list', params: {} }, z.looseObject({}));
} catch (error) {
  say('error', error.code);
}
const tools = await client.listTools();
say('tools', tools.tools.map((tool) => tool.name));
const waited = await client.callTool({ name: 'attend_wait', arguments: { scope, cursor: 'start', waitSeconds: 0 } });
say('waited', waited.structuredContent.decisions.map((each) => each.decisionId));
await client.close();
