/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resource configurations from one line of words, for the tables of the tests:
 *
 *	"vendors=15b3,8086 ifNames=ens1 @type=0x1 !ifNames=ens2 | drivers=ice"
 *
 *	KEY=VALUE,…   a list of the selector, by its name in the resource file
 *	@KEY=VALUE,…  a list of "attributes"
 *	!…            the same in "exclude"
 *	|             the next selector object
 *	mode=shared|exclusive|auto
 *	hcaMax=N policy=perDevice|anyDevice|allDevices|off topology=0|1 hcaList=NAME
 *	rdma_cm= umad= issm=  off|optional|required
 *
 * The resource is "rdma/r" on the bus "pci". A word that is none of these ends the
 * test program. In pfNames and rootDevices ';' stands for the comma of a range.
 */
#pragma once

#include "model/resource_config.h"

ResourceConfig *config_build(const char *words);
